"""The house itself: who may import whom, its folders, and what others can add from outside."""

"""What the commands seamkit and seambench share: how they end, what they show, and progress."""

"""A Java virtual machine inside this process, and the classes of engines in it."""

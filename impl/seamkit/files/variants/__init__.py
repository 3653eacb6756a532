"""Variants: values of any shape, and how they are put together from the pieces files hold."""

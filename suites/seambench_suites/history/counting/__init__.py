"""Instructions of kernels, as callgrind counts them."""

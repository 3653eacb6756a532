"""Plans over workers, on one host or several, and the oracle that judges them."""

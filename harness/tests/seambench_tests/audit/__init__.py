"""What an audit works out from descriptions."""

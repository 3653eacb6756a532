"""The serde suite: golden bytes, independent witnesses of the formats, checks, and the matrix."""

"""Tables as Spark reads them, by the connectors that the formats' own projects ship."""

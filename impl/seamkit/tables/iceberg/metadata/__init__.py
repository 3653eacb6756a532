"""What an Iceberg table says of itself: its metadata file, manifest lists and manifests."""

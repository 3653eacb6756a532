"""What the files beside the data say: snapshots, schemas, options, manifests."""

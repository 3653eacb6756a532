"""The connector path: slices of Hudi tables a row at a time, the seam's executable description."""

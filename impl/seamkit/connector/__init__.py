"""The connector path: slices of Hudi tables and files of Hive's a row at a time.

The seam's executable description: it shares neither decoding nor merging with the merge path.
"""

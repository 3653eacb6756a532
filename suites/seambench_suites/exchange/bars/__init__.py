"""How far transfers are from what the machine can do, and from what others do with the same rows.

`python -m seambench_suites.exchange.bars` runs everything in turns and writes a record.
"""

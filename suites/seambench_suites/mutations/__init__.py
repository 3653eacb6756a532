"""Damage done to golden tables of any format, and what readers make of it.

`python -m seambench_suites.mutations --format hudi --impl auto --count 20000 --seed 1`
"""

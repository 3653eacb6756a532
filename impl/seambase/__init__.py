"""What the library and the harness both stand on: errors, types, what a scan says of itself.

Pure Python over pyarrow. It knows neither `seamkit` nor `seambench`, so that an implementation from
outside can speak these words without either.
"""

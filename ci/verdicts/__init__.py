"""`kraftcheck check` and `kraftcheck bugs`: every verdict beside the expected one.

What is expected is data, in `kraftcheck.properties.register`.
"""

"""The rules: pure functions on words, records and systems.

Nothing here does I/O, reads a clock, draws a random number or keeps a global. What must be true of the rules is in
`kraftcheck.properties`.
"""

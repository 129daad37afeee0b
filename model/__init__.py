"""The rules: pure functions on words, records and systems."""

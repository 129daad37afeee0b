"""The documentation: pages that are written from data, the site, and tests that both say what is so.

`python -m tests.documentation` writes the pages. They need the engines' mutants, which are tests, so that this cannot
be in `ci`. Pages that take an exploration to write belong to the commands that make them.
"""

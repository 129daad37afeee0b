"""One run: a question to an engine about a system, and the record of its answer, of which every report is made.

The command line, the Python functions, pytest, the local page and `check` ask here.
"""

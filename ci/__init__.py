"""The command line, reports, files and benchmarks: everything with effects.

Nothing below this layer prints, reads a clock or opens a file by name, and nothing here decides a verdict.
"""

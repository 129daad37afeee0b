"""The command line, reports, files and benchmarks: everything with effects, and nothing that decides a verdict."""

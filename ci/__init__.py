"""The command line, reports and benchmarks: everything with effects."""

"""The benchmarks, `python -m kraftcheck.ci.bench`: nothing else in the project measures time."""

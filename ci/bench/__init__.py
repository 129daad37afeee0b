"""The benchmarks: `python -m kraftcheck.ci.bench`.

Nothing else in the project measures time, and no test does.
"""

"""Runs of a bounded number of steps in Z3: unrolled, searched for what breaks a claim, and for lassos."""

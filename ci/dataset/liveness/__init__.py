"""Liveness properties of a committed run: each one's region is listed, then judged in memory or by rounds of jobs.

`fixpoint` says from which states a fair behaviour stays in the region, by the rounds of `ci.dataset.backward`; `region`
reads a region into memory, and `search` judges.
"""

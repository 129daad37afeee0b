"""Liveness under fairness, by sweeps over the explored graph: no depth-first search, and no transition need be stored.

A fair behaviour that breaks a property ends in a cycle that satisfies every fairness constraint. `fair` finds the
states from which there is one, `behaviours` a shortest way into one, by `components` and `cycle`, `judge` the verdicts.
"""

"""Expected verdicts and proofs, as data. `kraftcheck check` compares every verdict with them, in both directions.

A verdict is changed here only together with the rule, property or scope that changes it.
"""

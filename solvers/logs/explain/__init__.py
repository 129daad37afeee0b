"""The explanation of a metadata log: which controller events wrote each batch, and which properties each step keeps.

Everything here asks the rules anew; `kraftcheck.solvers.logs.memo` remembers answers.
"""

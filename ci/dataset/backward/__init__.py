"""`recovers` properties of a committed run: arcs are listed once, then marks flow backward along them.

`arcs` numbers the states of a run, and says how their steps are listed; `files` are what that leaves; `search` has them
listed, raises the marks and judges.
"""

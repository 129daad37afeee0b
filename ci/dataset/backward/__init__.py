"""`recovers` properties of a committed run: arcs are listed once, then marks flow backward along them.

`arcs` numbers the states of a run, and says how their steps are listed, which `listing` does; `files` are what that
leaves; `search` raises the marks and judges.
"""

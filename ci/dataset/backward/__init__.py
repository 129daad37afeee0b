"""`recovers` properties of a committed run: arcs are listed once, then marks flow backward along them.

`arcs` numbers the states of a run, and says how their steps are listed, which `listing` does; `rounds` are the jobs
that raise marks where memory has no room for all arcs; `files` are what both leave, and `kept` what of it is finished;
`search` judges.
"""

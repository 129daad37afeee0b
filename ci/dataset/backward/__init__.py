"""`recovers` properties of a committed run: arcs are listed once, then marks flow backward along them.

`arcs` numbers the states of a run, and lists the steps by which marks may flow, `rounds` are the jobs that
raise marks where memory has no room for all arcs, `files` keeps both, `search` judges.
"""

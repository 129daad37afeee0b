"""`recovers` properties under Spark: arcs are listed once, then marks flow backward along them.

`numbering` numbers the states of a run, `arcs` lists the steps by which marks may flow, `rounds` are the jobs that
raise marks where the driver has no room for all arcs, `files` keeps both, `search` judges.
"""

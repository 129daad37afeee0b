"""A real cluster on this machine: released brokers as ordinary processes, and the run whose log tests replay.

It runs when a log is captured, and never in a test.
"""

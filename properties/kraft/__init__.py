"""The properties of the system `kraft`: those of `replication` and of `directories`, and a second partition's.

A claim that one of the two systems already makes is taken from there, never restated.
"""

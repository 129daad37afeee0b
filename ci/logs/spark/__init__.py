"""`kraftcheck replay --engine spark`: logs spread over tasks by cluster and partition.

It finds what the plain replay finds; nothing is explained in another way here.
"""

"""The documents of a dataset, read strictly: whoever wrote them may be a stranger.

Each value has a kind, each number a range, each name a pattern; what is not named here is refused.
"""

"""From what a user names to a system at a setting; `kraftcheck list`; reports of explorations.

Every command that takes a SYSTEM, a scope, bounds or rules resolves them here and nowhere else.
"""

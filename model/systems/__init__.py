"""The transition systems, a folder for each: state, actions, bounds and scopes.

A system calls the rules and states none of them again. Its properties are in `kraftcheck.properties`.
"""

"""The engines, which decide whether properties hold: search, walks, proofs, replay of logs.

An engine reads rules and properties and adds none. Nothing here prints or reads a clock: clocks and folders are
arguments.
"""

"""Programs: systems traced into terms, which every engine reads, and the verdicts that every engine gives.

Nothing here compiles or searches; the readers of a program are in the packages beside this one.
"""

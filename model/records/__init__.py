"""The metadata records, their forms as plain dicts, and the replay that applies them.

Records are the only way in which controller state changes. How records are laid out in the bytes of a log is the
business of `kraftcheck.ci.logs.format`.
"""

"""What a metadata log says, and which events of the controller explain it.

The bytes of a log are read in `kraftcheck.ci.logs`.
"""

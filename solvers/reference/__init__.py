"""The engines on Python ints, which define what the others must do: interpreter, confirmation, shrinking.

They are slow and plain on purpose. No compiled engine may be used here.
"""

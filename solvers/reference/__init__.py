"""The reference engines on Python ints, which define the rules: interpreter, confirmation, shrinking.

They are slow and plain on purpose. No compiled engine may be used here.
"""

"""Topics of the controller: creation, growth, deletion, and where replicas are placed.

What becomes of a partition that exists is decided in `kraftcheck.model.partition`.
"""

"""What the broker-id KIP promises, as properties of the system `broker-ids`, and lemmas of their proofs.

Expected verdicts are in `kraftcheck.properties.register.verdicts`.
"""

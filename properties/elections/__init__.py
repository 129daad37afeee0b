"""The properties of the system `elections`: leadership, ELR, registration, healing, and lemmas of their proofs.

Each property names the variants that refute it. Expected verdicts are in `kraftcheck.properties.register.verdicts`.
"""

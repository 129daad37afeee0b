"""What the unclean-recovery KIP promises, as properties of the system `unclean-recovery`, with lemmas for proofs.

Expected verdicts are in `kraftcheck.properties.register.verdicts`.
"""

"""The system `unclean-recovery`: the protocol of the unclean-recovery KIP, around the controller's own elections.

Whom the tool chooses is in `kraftcheck.model.unclean_recovery`, which the command uses too.
"""

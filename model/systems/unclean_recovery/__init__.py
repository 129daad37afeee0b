"""The system `unclean-recovery`: the protocol of the unclean-recovery KIP, around the controller's own elections."""

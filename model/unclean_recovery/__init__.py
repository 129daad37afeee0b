"""The unclean-recovery tool as pure functions: what replicas answer, whom it chooses, how it elects."""

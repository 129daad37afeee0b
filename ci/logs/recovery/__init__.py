"""The unclean-recovery and leader-election tools on files; `kraftcheck.model.unclean_recovery` decides."""

"""The unclean-recovery and leader-election tools on files: snapshots, lists of partitions, commands.

Whom they choose is decided in `kraftcheck.model.unclean_recovery`.
"""

"""The unclean-recovery and leader-election tools on files: snapshots, lists of partitions, commands."""

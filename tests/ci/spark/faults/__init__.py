"""Faults of processes, disks, files and clocks: what a run finds is what the native engine finds, or it is refused."""

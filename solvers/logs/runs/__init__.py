"""Runs of batches whose steps were explained before, replayed by compiled loops."""

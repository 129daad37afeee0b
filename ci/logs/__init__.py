"""Reading the metadata log of a real cluster: segments and snapshots, the dump tool's output, JSON lines."""

"""The system `future-logs`: what is copied of a replica that moves between directories, by offsets and epochs."""

"""A search that is committed level by level to a folder, whether `--engine disk` or `spark` expands its levels."""

"""`kraftcheck check` and `kraftcheck bugs`: every verdict beside the expected one."""

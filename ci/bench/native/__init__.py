"""The benchmark of the native explorer: its cases, clocks, and what two processes leave each other."""

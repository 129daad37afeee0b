"""`kraftcheck step`: walking through a system in the terminal, or by a script."""

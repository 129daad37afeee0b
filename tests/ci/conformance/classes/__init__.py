"""Differences with the released classes: found, shrunk, shown to the end of the command."""

"""`recovers` of a committed run: `arcs` are listed once, kept in `files`; `search` raises marks, and judges."""

"""Tasks of a distributed search: they expand and sift blocks of states. Spark itself is in `kraftcheck.ci.spark`."""

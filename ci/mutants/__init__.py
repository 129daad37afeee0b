"""`kraftcheck explain`: the table of load-bearing conditions."""

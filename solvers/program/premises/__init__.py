"""Whether a claim says something: the premises of its implications, and the goals that show them."""

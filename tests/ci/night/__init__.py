"""The night: everything slow, in shards that resume, and the record of what has run."""

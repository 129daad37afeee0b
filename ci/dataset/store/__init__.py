"""A dataset's files: levels, manifests, digests, commits, the lease; workers import it, so no command line is."""

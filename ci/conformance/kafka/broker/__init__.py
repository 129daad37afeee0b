"""The broker's own classes: what they do with directories that fail and replicas that move."""

"""The properties of the system `images`."""

"""The properties of the system `sessions`."""

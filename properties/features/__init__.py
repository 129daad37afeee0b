"""The properties of the system `features`."""

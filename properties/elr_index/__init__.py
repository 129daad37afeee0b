"""The properties of the system `elr-index`."""

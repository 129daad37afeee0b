"""The properties of the system `future-logs`."""

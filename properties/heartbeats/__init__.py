"""The properties of the system `heartbeats`."""

"""The pytest plugin: each property of a system is a test item."""

"""From what a user names to a system at a setting, `kraftcheck list`, and reports of explorations."""

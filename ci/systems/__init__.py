"""From what a user names, system, scope, bounds and rules, to a system at a setting: every command resolves it here."""

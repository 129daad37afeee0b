"""A user's own table of runs, `kraftcheck.toml` or `[tool.kraftcheck]` in pyproject.toml, which the check executes."""

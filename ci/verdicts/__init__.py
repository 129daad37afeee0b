"""`kraftcheck check` and `bugs`: verdicts beside the expected ones, which `kraftcheck.properties.register` has."""

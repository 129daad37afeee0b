"""Jobs of two stages over a committed run, whether this machine runs them or Spark.

`stages` says what a job is, and runs it here; `exchange` brings what the first stage gives to the second.
Workers import it, so it imports no model.
"""

"""Exploration beyond one machine: levels as Spark jobs, the explored space as Parquet files.

`tasks` and `levelfiles` run on workers and import no model.
"""

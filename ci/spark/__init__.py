"""Exploration beyond one machine: levels as Spark jobs; `tasks` and `levelfiles` run on workers, without the model."""

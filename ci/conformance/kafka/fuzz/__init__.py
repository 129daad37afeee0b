"""Differential fuzz: random request sequences on a release's managers, and on the controller on ints."""

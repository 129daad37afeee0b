"""Tests of `kraftcheck.ci.systems`: what there is, and where a rule is."""

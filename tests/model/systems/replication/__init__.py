"""Tests of `model/systems/replication`."""

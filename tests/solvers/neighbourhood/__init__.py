"""Tests of the states around a state."""

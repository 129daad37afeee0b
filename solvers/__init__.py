"""Engines: what decides whether properties hold."""

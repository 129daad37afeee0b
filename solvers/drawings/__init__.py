"""Drawings of traces: what is drawn, and the formats it is written in."""

"""Statements that nobody has judged yet: each set may only shrink, and is empty in the end."""

from __future__ import annotations

from collections.abc import Mapping

UNJUDGED: Mapping[str, frozenset[str]] = {}
"""Document to the ids of its statements without a row."""

"""Two-phase commit by other model checkers, beside the native explorer."""

from __future__ import annotations

__all__: list[str] = []

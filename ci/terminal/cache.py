"""The folder in which compiled code is kept between runs."""

from __future__ import annotations

import os
from pathlib import Path

NOWHERE = Path(os.devnull)
"""Where nothing can be kept, which a run does without: the place of a user who has no home."""


def cache_folder() -> Path:
    """Where compiled kernels are kept: `kraftcheck` in `XDG_CACHE_HOME`, by default in `~/.cache`."""
    named = os.environ.get("XDG_CACHE_HOME")
    try:
        home = Path(named) if named else Path.home() / ".cache"
    except RuntimeError:
        home = NOWHERE
    return home / "kraftcheck"

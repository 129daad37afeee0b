"""The folder in which compiled code is kept between runs."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """Where compiled kernels are kept: `kraftcheck` in `XDG_CACHE_HOME`, by default in `~/.cache`."""
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(home) / "kraftcheck"

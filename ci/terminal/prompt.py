"""Lines typed in a terminal."""

from __future__ import annotations

import importlib
from collections.abc import Iterator


def typed_lines(prompt: str) -> Iterator[str]:
    """The lines of a terminal, with a prompt, a history and editing, until the input ends."""
    importlib.import_module("readline")  # `input` uses it once it is imported
    while True:
        try:
            yield input(prompt)
        except EOFError:
            return

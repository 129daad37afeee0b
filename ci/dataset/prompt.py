"""Questions from a terminal or a pipe: several lines each, the end of one marked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

PROMPT = "query> "


def questions(lines: Iterable[str]) -> Iterator[str]:
    """The questions in lines: each ends with a `;` at the end of a line, an empty line, or the last line."""
    parts: list[str] = []
    for line in lines:
        text = line.rstrip()
        if text.strip() and not (text.lstrip().startswith("--") and not parts):
            parts.append(text)
        if parts and (not text.strip() or text.endswith(";")):
            yield "\n".join(parts).rstrip("; \n")
            parts = []
    if parts:
        yield "\n".join(parts)

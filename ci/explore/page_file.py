"""A page as one file that needs nothing from elsewhere: its styles, its scripts and its data are in it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from kraftcheck.ci.terminal.files import check_writable
from kraftcheck.ci.terminal.refusal import Refusal

FILES = Path(__file__).parent / "page"
"""Where styles and scripts of pages are."""

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
"""What the browser is told to load: nothing that is not in the page."""


def check_drawable(option: str, path: Path | None) -> None:
    """Refuse a place that no drawing can be written to, before work is spent on one; None passes.

    Raises:
        Refusal: for standard output, which holds the report, and for a file that cannot be written.
    """
    if path is None:
        return
    if str(path) == "-":
        raise Refusal(f"{option} takes the name of a file, since standard output has the report; give one")
    check_writable(str(path))


def page(title: str, body: str, data: str, styles: Sequence[str], scripts: Sequence[str], more_style: str = "") -> str:
    """The text of a page.

    Args:
        title: of the window.
        body: HTML.
        data: JSON, in the element `drawing`; no text in it ends the element.
        styles, scripts: names of files, in their order.
        more_style: style that is no file.
    """
    style = "".join((FILES / name).read_text(encoding="utf-8") for name in styles) + more_style
    script = "".join((FILES / name).read_text(encoding="utf-8") for name in scripts)
    closed = data.replace("<", "\\u003c")
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width">
<title>{escape(title)}</title>
<style>
{style}</style>
</head>
<body>
<main>
{body}</main>
<script type="application/json" id="drawing">{closed}</script>
<script>
{script}</script>
</body>
</html>
"""

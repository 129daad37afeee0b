"""Writes the pages of the documentation that are made from data; the first pages last, since they read the others."""

from __future__ import annotations

from tests.documentation.pages import PAGES

for place, text in PAGES.items():
    place.write_text(text(), encoding="utf-8")

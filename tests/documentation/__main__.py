"""Writes the pages of the documentation that are made from data; the first pages last, since they read the others."""

from tests.documentation.findings import FOLDER, REPORTS
from tests.documentation.pages import PAGES

FOLDER.mkdir(exist_ok=True)
for place, text in {**REPORTS, **PAGES}.items():
    place.write_text(text(), encoding="utf-8")

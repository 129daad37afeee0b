"""Writes docs/reference/engine-mutants.md."""

from __future__ import annotations

from tests.engine_mutants.table import PAGE, page

if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

"""What a comparison with real Kafka found, for Python."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any

from attrs import field, frozen


@frozen
class Report:
    """What a comparison with real Kafka found.

    Attributes:
        exit_code: what the command would exit with; 0 only where all agrees.
        document: the report as plain values, as `--json` writes it.
        text: the report as the command prints it.
    """

    exit_code: int
    document: Mapping[str, Any] = field(repr=False)
    text: str = field(repr=False)

    def assert_holds(self) -> None:
        """Fail unless all agrees.

        Raises:
            AssertionError: with the report.
        """
        if self.exit_code != 0:
            raise AssertionError(self.text)

    def __str__(self) -> str:
        """The report as the command prints it."""
        return self.text

    def _repr_html_(self) -> str:
        """The report for a notebook."""
        return f"<pre>{html.escape(self.text)}</pre>"

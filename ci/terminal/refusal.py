"""Bad input: one line that names the place and the mend, exit code 2."""

from __future__ import annotations

import click


class Refusal(click.ClickException):
    """What the user gave cannot be used; the message says where and what to do."""

    exit_code = 2

"""Bad input: one line that names the place and the mend, exit code 2."""

from __future__ import annotations

import click


class Refusal(click.ClickException):
    """Input that cannot be used; the message names the place and the mend."""

    exit_code = 2


class JobFailedError(Refusal):
    """A job that failed on all attempts; what is committed stays."""

"""Running the command line in tests: in this process where that is enough, else in one of its own."""

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest import mock

from attrs import frozen

from kraftcheck.ci.main import main
from kraftcheck.ci.prove import check_certificate
from tests.shared.places import ROOT


@frozen
class Ran:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        """Standard output without its line breaks: where a table breaks a cell depends on the widths of its times."""
        return " ".join(self.out.split())

    @property
    def last(self) -> str:
        """The last line of standard output."""
        return self.out.rstrip("\n").rpartition("\n")[2]

    def document(self) -> Any:
        """Standard output as JSON."""
        return json.loads(self.out)

    def refusal(self) -> str:
        """The one line of a refusal: nothing else was written, and the exit code is 2."""
        assert (self.code, self.out) == (2, ""), (self.code, self.out[-500:], self.err)
        assert self.err.startswith("kraftcheck: ")
        assert self.err.count("\n") == 1, self.err
        return self.err.removeprefix("kraftcheck: ").rstrip("\n")


def kraftcheck(*words: object, given: str | None = None) -> Ran:
    """Run the command line in this process, as `kraftcheck WORDS...` would, with what is given on standard input."""
    out, err, code = io.StringIO(), io.StringIO(), None
    argv = ["kraftcheck", *map(str, words)]
    stdin = sys.stdin if given is None else io.TextIOWrapper(io.BytesIO(given.encode()))
    own = mock.patch.multiple(sys, argv=argv, path=[*sys.path], stdin=stdin)
    before = signal.getsignal(signal.SIGINT)
    with own, redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as ended:
            code = ended.code
        finally:
            signal.signal(signal.SIGINT, before)
    assert isinstance(code, int)
    return Ran(code, out.getvalue(), err.getvalue())


def checked(folder: Path) -> subprocess.CompletedProcess[str]:
    """What the script of a certificate does, in this process."""
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        code = check_certificate.main(folder, [])
    return subprocess.CompletedProcess([], code, out.getvalue(), err.getvalue())


def start(words: Sequence[object], folder: Path = ROOT, **options: Any) -> subprocess.Popen[str]:
    """Start the command line in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "kraftcheck.ci.main", *map(str, words)],
        cwd=folder, text=True, env={**os.environ, "PYTHONPATH": str(ROOT), **options.pop("environment", {})},
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options},
    )  # fmt: skip

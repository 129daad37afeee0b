"""The files of others in the local page are what their list says, each with its licence."""

from __future__ import annotations

import hashlib

from kraftcheck.ci.explore.serve.application import FOLDER

VENDOR = FOLDER / "vendor"
LICENCES = {"MIT": "The MIT License (MIT)", "Apache-2.0": "Apache License"}


def test_the_files_of_others_are_unchanged_and_licensed() -> None:
    """Each script has a row with its digest, and a file with the licence that the row names."""
    rows = [line.split() for line in (VENDOR / "origin.txt").read_text(encoding="utf-8").splitlines()[3:]]
    assert {row[0] for row in rows} == {path.name for path in VENDOR.glob("*.mjs")}
    for name, package, _, _, licence, digest in rows:
        assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == digest
        assert LICENCES[licence] in (VENDOR / f"{package}.LICENSE.txt").read_text(encoding="utf-8")

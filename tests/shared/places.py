"""Where the repository's own files are: pages of docs, captured logs, vectors, snapshots."""

from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
TESTS = ROOT / "tests"

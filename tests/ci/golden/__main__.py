"""Writes the expected outputs anew: `python -m tests.ci.golden [SESSION...]`. The difference is for review."""

import sys
import tempfile
import time
from pathlib import Path

from tests.ci.golden.session import EXPECTED, commands_of, played


def main() -> None:
    """Play each session, and keep what it shows; the processor time of each is printed."""
    for name in sys.argv[1:] or sorted(path.stem for path in EXPECTED.glob("*.txt")):
        file, begun = EXPECTED / f"{name}.txt", time.process_time()
        with tempfile.TemporaryDirectory() as folder:
            file.write_text(played(commands_of(file.read_text(encoding="utf-8")), Path(folder)), encoding="utf-8")
        print(f"{name}: {time.process_time() - begun:.1f} s")


if __name__ == "__main__":
    main()

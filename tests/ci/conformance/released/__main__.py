"""Writes a folder with a changed class of the newest release: `-m tests.ci.conformance.released CHANGE [CLASS]`."""

import sys
from pathlib import Path

from tests.ci.conformance.released import changed

changed(Path(), *sys.argv[1:])

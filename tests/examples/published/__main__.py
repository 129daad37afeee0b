"""The benchmark of the models: `python -m tests.examples.published [--tlc] [MODEL...]`."""

import sys

from tests.examples.published.models import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

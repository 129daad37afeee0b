"""The entry for clusters: `spark-submit [SPARK OPTIONS] ci/spark_explore.py SYSTEM --out DIR [OPTIONS]`.

The same as `kraftcheck explore --engine spark`; master, memory and settings
are those that spark-submit was given. DIR must be one folder for the driver
and all workers. spark-submit sends both of a program's streams to standard
output, so that a document needs a file: --json FILE.
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    from ci.main import main

    sys.argv[1:1] = ["explore", "--engine", "spark"]
    main()

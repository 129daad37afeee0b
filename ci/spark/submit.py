"""The entry for clusters: `spark-submit [SPARK OPTIONS] ci/spark/submit.py SYSTEM --out DIR [OPTIONS]`.

The same as `kraftcheck explore --engine spark`; master, memory and settings
are those that spark-submit was given. DIR must be one folder for the driver
and all workers. spark-submit sends both of a program's streams to standard
output, so that a document needs a file: --json FILE.
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    # Python puts this script's folder first; what has to be there is the folder that holds the package. A cluster that
    # copies this file to another machine has the package installed there.
    folders = Path(__file__).absolute().parents
    sys.path[:1] = [str(folder) for folder in folders if (folder / "kraftcheck" / "__init__.py").is_file()][:1]
    from kraftcheck.ci.main import main

    sys.argv[1:1] = ["explore", "--engine", "spark"]
    main()

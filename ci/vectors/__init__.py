"""Running conformance vectors: inputs and expected results taken from Kafka's own tests.

`run_vector` judges one vector; each module of this package runs the functions
of one vector file. Only `ci.vectors.files` touches files.
"""

from ci.vectors.core import Outcome, Vector
from ci.vectors.run import FUNCTIONS, run_vector

__all__ = ["FUNCTIONS", "Outcome", "Vector", "run_vector"]

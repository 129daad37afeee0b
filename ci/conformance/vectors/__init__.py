"""Running conformance vectors: inputs and expected results taken from Kafka's own tests.

`run_vector` judges one vector; each module of this package runs the functions
of one vector file. Only `kraftcheck.ci.conformance.vectors.core` touches files.
"""

from kraftcheck.ci.conformance.vectors.core import Vector, VectorOutcome
from kraftcheck.ci.conformance.vectors.run import FUNCTIONS, run_vector

__all__ = ["FUNCTIONS", "Vector", "VectorOutcome", "run_vector"]

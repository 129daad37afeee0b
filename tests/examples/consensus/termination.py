"""EWD840 and EWD998, Dijkstra's and Safra's detection of termination on a ring, as the tests of liveness have them."""

from tests.solvers.liveness import tla, tla_termination

EWD840 = tla.ewd840(tla.SYSTEM)
EWD998 = tla_termination.ewd998(3, tla.SYSTEM)

"""The exhaustive exploration of a program: levels, audit, backward search and liveness in one."""

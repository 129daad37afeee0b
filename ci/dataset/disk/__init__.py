"""The search of one machine whose levels are files: `explore --engine disk`.

Memory holds a compact set of what was visited, and the level that is being made. Levels are
committed as those of a distributed search are, so that either engine goes on with the other's.
"""

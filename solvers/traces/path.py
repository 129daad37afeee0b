"""Packed runs: how a state was reached, in terms that all engines share: packed states and action instances.

Each engine numbers states in its own manner. These numbers stay inside the
engine: what leaves it is a packed run, which every engine reads alike.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

from attrs import frozen

Mark_contra = TypeVar("Mark_contra", contravariant=True)
"""What an engine notes of an occurrence: one of its own numbers for a state, and the action instance."""


@frozen
class PackedRun:
    """The run by which a state is reached.

    Attributes:
        initial: packed initial state.
        instances: action instances from there.
        end: the packed state they lead to.
    """

    initial: tuple[int, ...]
    instances: tuple[int, ...]
    end: tuple[int, ...]


class Origins(Protocol[Mark_contra]):
    """Where an engine's states came from."""

    def occurrence(self, mark: Mark_contra) -> tuple[PackedRun, int]:
        """The run to the state of a mark, and the action instance taken there, or NO_ACTION."""

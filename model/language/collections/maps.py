"""Maps from declared keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Self

from attrs import evolve, frozen

from kraftcheck.model.language.collections.numbering import check_member, outside, places, symbolic, text_of
from kraftcheck.model.language.layout import LayoutError
from kraftcheck.model.language.symbolic import described
from kraftcheck.model.language.words import choose

_REFUSED = object()


@frozen
class Map:
    """A value for each declared key: subclass it and name `keys`.

    Attributes:
        values: the value of each key, in the order of `keys`.

    >>> class Votes(Map):
    ...     keys = ("a", "b")
    >>> votes = Votes.of({"a": 1, "b": 4}).put("a", 2)
    >>> votes.get("a"), str(votes)
    (2, '{a: 2, b: 4}')
    """

    keys: ClassVar[tuple[Any, ...]] = ()
    values: tuple[Any, ...]

    @classmethod
    def domain(cls, value: Any) -> Any:
        """The layout of every map to values of a layout."""
        return cls(tuple(value for _ in cls.keys))

    @classmethod
    def of(cls, values: Mapping[Any, Any] | Callable[[Any], Any]) -> Self:
        """The map with these values, or with what a function says of each key.

        Raises:
            LayoutError: when a mapping has other keys.
        """
        if isinstance(values, Mapping):
            if {*values} != {*cls.keys}:
                raise LayoutError(f"{cls.__name__}.of() has the keys {sorted(map(str, values))}, not {cls.keys}")
            values = values.__getitem__
        return cls(tuple(values(key) for key in cls.keys))

    def __str__(self) -> str:
        """As traces print it."""
        return f"{{{', '.join(f'{text_of(k)}: {text_of(v)}' for k, v in self.items())}}}"

    def items(self) -> Iterator[tuple[Any, Any]]:
        """Each key with its value."""
        return zip(self.keys, self.values, strict=True)

    def get(self, key: Any, otherwise: Any = _REFUSED) -> Any:
        """The value of a key.

        Args:
            key: a key, whose words may be symbolic.
            otherwise: the value for what is no key; without it, every value of a symbolic key must be one.

        Raises:
            LayoutError: when it may be no key, and `otherwise` is not given.
        """
        among = symbolic(key)
        if among is None and otherwise is _REFUSED:
            check_member(self.keys, key)
        if among is not None and otherwise is _REFUSED and outside(self.keys, key) is not False:
            raise among.graph.refusal(f"get() of {described(key)}, which may be no key; give get() an `otherwise`")
        result = self.values[0] if otherwise is _REFUSED else otherwise
        for place, there in places(self.keys, key):
            result = choose(there, self.values[place], result)
        return result

    def put(self, key: Any, value: Any) -> Self:
        """The map with a value for a key; what is no key changes nothing, as with TLA+'s `EXCEPT`."""
        values = list(self.values)
        for place, there in places(self.keys, key):
            values[place] = choose(there, value, values[place])
        return evolve(self, values=tuple(values))

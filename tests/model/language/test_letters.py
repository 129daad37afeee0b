"""The alternating bit over each network: right where it is known to be right, and refuted where it is wrong.

A sender repeats a letter until it is acknowledged; letters and acknowledgements carry one bit of their number. It is
right over links that keep order and may lose. Without repetition a lost message stops it; over a network that orders
otherwise, or delivers twice, one bit does not tell an old letter from the next one, and whole numbers do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from attrs import evolve, frozen

import kraftcheck as kc
from kraftcheck import network

MOST = 3


def letters(kind: Any, lossy: bool, *, bits: int = 2, repeats: bool = True, looks: bool = True) -> kc.System:
    """The protocol over a kind of network.

    Args:
        kind, lossy: the network.
        bits: how many numbers tell letters apart.
        repeats: whether a letter is sent again.
        looks: whether the receiver looks at the number.
    """

    class Wires(kind):  # type: ignore[misc]
        members = tuple((word, at, 1 - at, b) for word, at in (("letter", 0), ("ack", 1)) for b in range(bits))

    @frozen
    class State:
        acked: kc.Word
        taken: kc.Word
        asked: kc.Truth
        wires: Wires

    stays = kind is network.Duplicating

    def is_next(number: kc.Word, b: kc.Word) -> kc.Truth:
        return kc.any_of(*(kc.all_of(number == n, b == n % bits) for n in range(MOST + 1)))

    def send(s: State, b: kc.Word) -> State:
        return evolve(s, asked=True, wires=s.wires.send(("letter", 0, 1, b)))

    def may_send(s: State, b: kc.Word) -> kc.Truth:
        may = kc.any_of(stays, kc.negate(s.wires.arrives(("letter", 0, 1, b))))
        return kc.all_of(s.acked < MOST, is_next(s.acked, b), kc.any_of(repeats, kc.negate(s.asked)), may)

    def take(s: State, b: kc.Word) -> State:
        new = kc.choose(kc.any_of(is_next(s.taken, b), not looks), 1, 0)
        return evolve(s, taken=s.taken + new, wires=s.wires.deliver(("letter", 0, 1, b)).send(("ack", 1, 0, b)))

    def learn(s: State, b: kc.Word) -> State:
        new = is_next(s.acked, b)
        return evolve(s, acked=s.acked + kc.choose(new, 1, 0), asked=kc.all_of(s.asked, kc.negate(new)),
                      wires=s.wires.deliver(("ack", 1, 0, b)))  # fmt: skip

    row = {"b": range(bits)}
    wires = Wires.domain() if stays else Wires.domain(1, cap="links are short")
    return kc.System(
        name="letters", summary="The alternating bit.", layout=State(*[kc.ints(0, MOST + 1)] * 2, kc.truth(), wires),
        initial=[State(0, 0, False, Wires.of([], *[1] * (kind is network.Ordered)))],
        actions=[
            kc.Action("send", send, may_send, row),
            kc.Action("take", take, lambda s, b: s.wires.arrives(("letter", 0, 1, b)), row),
            kc.Action("learn", learn, lambda s, b: s.wires.arrives(("ack", 1, 0, b)), row),
            *[network.losses("wires", Wires)] * lossy,
        ],
        properties=[
            kc.always("no-copy", "no letter is taken twice", lambda s: s.taken <= s.acked + 1),
            kc.always("none-lost", "what is acknowledged was taken", lambda s: s.acked <= s.taken),
            kc.recovers("arrives", "all can still be acknowledged", lambda s: s.acked == MOST),
        ],
        quiescent=lambda s: True,
    )  # fmt: skip


def verdicts(found: kc.Result) -> dict[str, str]:
    """What is said of each property."""
    return {name: type(one).__name__ for name, one in found.verdicts.items() if name != "deadlock"}


@pytest.mark.parametrize(("kind", "lossy", "changed", "refuted"), [
    (network.Ordered, True, {}, set()),
    (network.Ordered, False, {"repeats": False}, set()),
    (network.Ordered, True, {"repeats": False}, {"arrives"}),
    (network.Ordered, True, {"looks": False}, {"no-copy"}),
    (network.Unordered, False, {}, {"no-copy", "none-lost", "arrives"}),
    (network.Unordered, False, {"repeats": False}, set()),
    (network.Unordered, True, {"bits": MOST + 1}, set()),
    (network.Unordered, True, {"repeats": False}, {"arrives"}),
    (network.Duplicating, False, {"repeats": False}, {"no-copy", "none-lost", "arrives"}),
    (network.Duplicating, True, {"bits": MOST + 1}, set()),
    (network.Ordered, True, {"bits": MOST + 1}, set()),
    (network.Duplicating, True, {"bits": MOST + 1, "repeats": False}, {"arrives"}),
])  # fmt: skip
def test_each_network_refutes_what_it_breaks(
    kind: Any, lossy: bool, changed: dict[str, Any], refuted: set[str]
) -> None:  # fmt: skip
    """A lost message, a copy and another order refute exactly the protocols that do not allow for them."""
    found = kc.explore(letters(kind, lossy, **changed), threads=1)
    said = verdicts(found)
    assert {name for name, word in said.items() if word == "Refuted"} == refuted
    assert refuted or set(said.values()) == {"Holds"}
    if refuted == {"arrives"}:
        assert [step.action for step in found.trace("arrives").steps] == ["send", "lose"]


class Plain:
    """The protocol on tuples: messages in the order in which they were sent."""

    def __init__(self, kind: Any, lossy: bool, bits: int) -> None:
        self.kind, self.lossy, self.bits = kind, lossy, bits

    def arriving(self, wires: Any) -> list[Any]:
        """The messages that may come next."""
        if self.kind is not network.Ordered:
            return sorted(set(wires))
        return [next(one for one in wires if one[0] == word) for word in sorted({word for word, _ in wires})]

    def without(self, wires: Any, message: Any) -> Any:
        """The messages without one."""
        at = wires.index(message)
        return (*wires[:at], *wires[at + 1 :])

    def sent(self, wires: Any, message: Any) -> Any:
        """The messages with one more; None where a link is full."""
        if self.kind is network.Duplicating:
            return tuple(sorted({*wires, message}))
        counted = message if self.kind is network.Unordered else message[0]
        on = Counter(wires if self.kind is network.Unordered else (word for word, _ in wires))
        return None if on[counted] else tuple(sorted((*wires, message)))

    def steps(self, state: Any) -> Iterator[Any]:
        """What a step leads to."""
        acked, taken, asked, wires = state
        letter = ("letter", acked % self.bits)
        if acked < MOST and (self.kind is network.Duplicating or letter not in self.arriving(wires)):
            yield acked, taken, True, self.sent(wires, letter)
        for message in self.arriving(wires):
            (word, b), stays = message, self.kind is network.Duplicating
            rest = wires if stays else self.without(wires, message)
            if word == "letter":
                yield acked, taken + (taken % self.bits == b), asked, self.sent(rest, ("ack", b))
            else:
                new = acked % self.bits == b
                yield acked + new, taken, asked and not new, rest
            if self.lossy:
                yield acked, taken, asked, self.without(wires, message)


@pytest.mark.parametrize(("kind", "lossy", "bits", "states"), [
    (network.Ordered, False, 2, 21), (network.Ordered, True, 2, 32),
    (network.Unordered, False, 4, 79), (network.Unordered, True, 4, 118),
    (network.Duplicating, False, 4, 10), (network.Duplicating, True, 4, 211),
])  # fmt: skip
def test_a_plain_search_finds_as_many_states(kind: Any, lossy: bool, bits: int, states: int) -> None:
    """Networks of tuples, one message of a kind under way at most, have as many states as the parts of the language."""
    plain, start = Plain(kind, lossy, bits), (0, 0, False, ())
    seen, waiting = {start}, [start]
    while waiting:
        for after in plain.steps(waiting.pop()):
            if after[-1] is not None and after not in seen:
                seen.add(after)
                waiting.append(after)
    assert len(kc.explore(letters(kind, lossy, bits=bits), threads=1).states()) == len(seen) == states

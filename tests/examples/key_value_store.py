"""Transactions with snapshot isolation: KeyValueStore of the TLA+ Examples."""

from typing import Any

from attrs import evolve, frozen

import kraftcheck as kc

KEYS, VALUES, NONE = range(2), (1, 2), 0


@frozen
class Transaction:
    """A transaction: whether it is open, its snapshot, the keys that it wrote, and those that others wrote since."""

    is_open: kc.Truth
    snapshot: tuple[kc.Word, ...]
    written: kc.IntSet
    missed: kc.IntSet


CLOSED = Transaction(False, (NONE,) * len(KEYS), kc.IntSet(), kc.IntSet())


@frozen
class Store:
    """The values of the keys, and the transactions."""

    values: tuple[kc.Word, ...]
    transactions: tuple[Transaction, ...]


def change(s: Store, t: kc.Word, new: Any) -> Store:
    """The store with another state of a transaction."""
    return evolve(s, transactions=kc.put(s.transactions, t, new))


def write(s: Store, t: kc.Word, k: kc.Word, v: kc.Word = NONE) -> Store:
    """A transaction writes a value, or removes a key."""
    old = kc.get(s.transactions, t)
    return change(s, t, evolve(old, snapshot=kc.put(old.snapshot, k, v), written=old.written.plus(old.written.just(k))))


def may_write(s: Store, t: kc.Word, k: kc.Word, v: kc.Word = NONE) -> kc.Truth:
    """A transaction is open, and the value is another one."""
    own = kc.get(s.transactions, t)
    return kc.all_of(own.is_open, kc.get(own.snapshot, k) != v)


def commit(s: Store, t: kc.Word) -> Store:
    """A transaction ends; its writes are in the store, and missed by the others."""
    own = kc.get(s.transactions, t)
    values = tuple(kc.choose(own.written.has(k), own.snapshot[k], s.values[k]) for k in KEYS)
    others = tuple(kc.choose(other.is_open, evolve(other, missed=other.missed.plus(own.written)), other)
                   for other in s.transactions)  # fmt: skip
    return Store(values, kc.put(others, t, CLOSED))


def lifecycle(s: Store) -> dict[str, kc.Truth]:
    """What differs from a snapshot was written by the transaction or missed; a closed transaction keeps nothing."""
    named = {}
    for t, one in enumerate(s.transactions):
        named[f"transaction {t} misses"] = kc.implies(
            one.is_open,
            kc.each(
                KEYS,
                lambda k, one=one: kc.any_of(s.values[k] == one.snapshot[k], one.written.has(k), one.missed.has(k)),
            ),
        )
        named[f"transaction {t} is clean"] = kc.any_of(one.is_open, kc.equal(one, CLOSED))
    return named


def store(transactions: int, *, detects: bool = True) -> kc.System:
    """The store with some transactions; without detection of conflicts, updates are lost."""
    one = {"t": range(transactions)}

    def may_commit(s: Store, t: kc.Word) -> kc.Truth:
        own = kc.get(s.transactions, t)
        return kc.all_of(own.is_open, own.missed.keep(own.written).is_empty() if detects else True)

    word = kc.ints(NONE, max(VALUES))
    members = kc.IntSet(kc.subset_of(len(KEYS)))
    return kc.System(
        name="key-value-store",
        summary="Transactions with snapshot isolation.",
        layout=Store((word,) * len(KEYS),
                     (Transaction(kc.truth(), (word,) * len(KEYS), members, members),) * transactions),
        initial=[Store((NONE,) * len(KEYS), (CLOSED,) * transactions)],
        actions=[
            kc.Action("open", lambda s, t: change(s, t, evolve(CLOSED, is_open=True, snapshot=s.values)),
                      lambda s, t: kc.negate(kc.get(s.transactions, t).is_open), one),
            kc.Action("write", write, may_write, {**one, "k": KEYS, "v": VALUES}),
            kc.Action("remove", write, may_write, {**one, "k": KEYS}),
            kc.Action("roll_back", lambda s, t: change(s, t, CLOSED),
                      lambda s, t: kc.get(s.transactions, t).is_open, one),
            kc.Action("commit", commit, may_commit, one),
        ],
        properties=[
            kc.always("lifecycle", "what a transaction cannot see it has missed or written itself", lifecycle),
            kc.step("no-lost-update", "no transaction overwrites what it has missed", lambda t: kc.each(
                range(transactions), lambda n: kc.implies(t.action == "commit" and t.arguments["t"] == n, kc.each(
                    KEYS, lambda k: kc.negate(kc.all_of(t.before.transactions[n].missed.has(k),
                                                        t.before.transactions[n].written.has(k))))))),
            kc.sometimes("conflict", "two transactions have written one key", lambda s: kc.some(
                KEYS, lambda k: kc.count(s.transactions, lambda one: one.written.has(k)) >= 2)),
        ],
    )  # fmt: skip


TWO_TRANSACTIONS, CARELESS = store(2), store(2, detects=False)

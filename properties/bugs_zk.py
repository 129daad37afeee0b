"""Defects of the systems on ZooKeeper with the scope that shows each; part of the matrix in `properties.bugs`."""

from __future__ import annotations

from properties.bug import Bug

ZK_BUGS: tuple[Bug, ...] = (
    Bug("first controller", "decisions-one-by-one", "zk-controller", "pair",
        {"decisions-are-published": 6, "change-is-whole": 6, "few-operations": 6}),
    Bug("first controller", "decision-write-unconditional", "zk-controller", "sessions",
        {"isr-complete": 7, "no-avoidable-loss": 7}),
    Bug("first controller", "outsiders-by-old-list", "zk-controller", "sessions",
        {"no-avoidable-loss": 7}),
    Bug("question A.1", "hopeless-isr-emptied", "zk-controller", "tiny",
        {"no-avoidable-loss": 18},
        {"stops": 2}),
    Bug("question A.2", "down-brokers-not-told", "zk-controller", "tiny",
        {"decisions-are-published": 7, "decisions-arrive": 7}),
    Bug("question A.3", "replica-failure-unnoticed", "zk-controller", "replica",
        {"partition-is-led": 1}),
    Bug("seeded", "isr-update-unconditional", "zk-controller", "sessions",
        {"isr-complete": 9, "decisions-are-published": 8, "decisions-arrive": 8}),
    Bug("seeded", "failover-skips-republishing+decisions-one-by-one", "zk-controller", "tiny",
        {"decisions-are-published": 5, "few-operations": 5, "decisions-arrive": 6, "partition-is-led": 6}),
    Bug("seeded", "watch-set-after-read", "zk-controller", "sessions",
        {"decisions-arrive": 11, "partition-is-led": 11}),
    Bug("seeded", "subscription-ignores-backlog", "zk-controller", "tiny",
        {"decisions-arrive": 7}),
    Bug("seeded", "older-decisions-followed", "zk-controller", "sessions",
        {"isr-complete": 15}),
    Bug("seeded", "leads-before-fetcher-stops", "zk-controller", "tiny",
        {"leader-does-not-fetch": 6}),
    Bug("seeded", "outsider-keeps-isr", "zk-controller", "tiny",
        {"leader-in-isr": 6, "isr-complete": 6}),
    Bug("seeded", "outsider-preferred", "zk-controller", "small",
        {"clean-change-elects-member": 5, "no-avoidable-loss": 6}),
)  # fmt: skip
"""The rows, the document's own first."""

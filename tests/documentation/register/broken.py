"""docs/reference/broken-proofs.md: which proofs each variant, and each other meaning of the rules, must break."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from kraftcheck.ci.prove.broken import BrokenProofRow, every_row, rows
from kraftcheck.properties.register.verdicts import ANY_PLACES, BEYOND, NOT_FOR_ANY, PROOF_SCOPES
from tests.properties.test_meanings import MEANINGS

HEAD = """# Proofs that must break

How many proofs each system's variants must break, and what other meanings of the rules break: a proof must be able to
fail.

`kraftcheck bugs --engine z3` switches on each variant that refutes a proven property, and the proof of that property
must break: at a scope of the proofs, or with the bounds of the defect's row. A property that is refuted elsewhere only
has its reason in `beyond` of `properties/register/proofs.toml`. Nightly tests explore the scopes of the proofs under
each of these variants, but for `large` of `replication`.

| system | variants | proofs that must break | refuted elsewhere only |
|---|---|---|---|
"""

ANY = """
`kraftcheck bugs --engine z3 --brokers any` does so for any number. It looks for a run with few brokers that ends in a
step that breaks the property; from the invariants that held all along that step must not be proven to keep it. A
variant that cannot be asked has its reason in `not-for-any` of the same file: it needs slots, begins with brokers that
have registered before, has replies come late or another controller take over, or cordons directories.

| system | variants | proofs that must break | cannot be asked |
|---|---|---|---|
"""

OTHERS = """
Other meanings of the rules, which nobody wrote as a variant, are asked in the same way
(`tests/properties/test_meanings.py`). Few brokers refute just the claims that a row names. `prove --brokers any` is
asked about the first of them under the changed rule, and says that it is refuted (exit 12), or leaves it
open (20, 22), and never that it holds. Where nothing breaks, each query that the change touches, if any, is proven:

| meaning | of | breaks |
|---|---|---|
"""


def page() -> str:
    """The text of the page."""
    every, asked = every_row(), rows()
    fixed = _rows(PROOF_SCOPES, asked, lambda name: sum(len(why.claims) for at, why in BEYOND.items() if at[0] == name))
    any_number = _rows(ANY_PLACES, every, lambda name: sum(
        len(row.claims) for row in every if row.system == name and (name, row.variant) in NOT_FOR_ANY
    ))  # fmt: skip
    return "".join([HEAD, *fixed, ANY, *any_number, OTHERS, *(f"{one.row()}\n" for one in MEANINGS)])


def _rows(systems: Iterable[str], every: Sequence[BrokenProofRow], left: Callable[[str], int]) -> Iterator[str]:
    for name in systems:
        own = [row for row in every if row.system == name]
        yield f"| `{name}` | {len(own)} | {sum(len(row.claims) for row in own)} | {left(name)} |\n"

"""Which pages of the documentation in git are made from data; `tests/documentation/index.py` has those of the site."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from kraftcheck.ci.mutants.page import page as load_bearing
from kraftcheck.ci.mutants.table import read_parts
from tests.browser import drawn
from tests.ci.explore import scopes_page
from tests.ci.mutants import operator_page
from tests.ci.mutants.operator_page import read_scores
from tests.ci.night import record
from tests.documentation import findings, index, lemmas, live, proofs, releases
from tests.documentation.mistakes import page as mistakes
from tests.documentation.register import broken, classes, documents, errors, verdicts
from tests.examples.published import page as published
from tests.shared.places import DOCS

PROOFS = proofs.read_runs(DOCS / "reference" / "proofs.json")  # the runs of provers that pages show

PAGES: Mapping[Path, Callable[[], str]] = {
    DOCS / "reference" / "live-findings.md": live.page,
    DOCS / "reference" / "releases.md": releases.page,
    DOCS / "reference" / "bug-catalogue.md": documents.catalogue,
    DOCS / "reference" / "broken-proofs.md": broken.page,
    DOCS / "reference" / "kafka-classes.md": classes.page,
    DOCS / "reference" / "invariants.md": documents.invariants,
    DOCS / "reference" / "scopes.md": scopes_page.kept,
    DOCS / "reference" / "verdicts.md": verdicts.page,
    findings.FOLDER / "README.md": findings.page,
    DOCS / "reference" / "load-bearing.md": lambda: load_bearing(read_parts(DOCS / "reference" / "load-bearing.json")),
    DOCS / "reference" / "operator-mutants.md": lambda: operator_page.page(
        read_scores(DOCS / "reference" / "operator-mutants.json")
    ),
    DOCS / "reference" / "proofs.md": lambda: proofs.page(PROOFS),
    **({record.PAGE: record.page} if record.DATA.exists() else {}),
    DOCS / "reference" / "lemmas.md": lambda: lemmas.page(PROOFS),
    **{DOCS / "images" / f"lemmas-{row.system}.svg": partial(lemmas.picture, row) for row in lemmas.shown(PROOFS)},
    **{DOCS / "images" / name: picture for name, picture in drawn.DRAWN.items()},
    DOCS / "reference" / "README.md": index.reference,
    DOCS / "explanation" / "adr" / "README.md": index.decisions,
    DOCS / "how-to" / "mistakes.md": mistakes.page,
    DOCS / "reference" / "published-models.md": published.page,
    DOCS / "reference" / "controller-errors.md": errors.page,
    **{DOCS / folder / "README.md": partial(index.first, folder) for folder in index.FIRST},
}
"""Place to text, in the order of writing."""

"""Mutants of what stands between strangers' files and this program, each killed by a test that forges one."""

from __future__ import annotations

from pathlib import Path

from kraftcheck.solvers.machine_code.objectcache import ObjectCache
from tests.ci.dataset import test_forged, test_forged_documents
from tests.ci.dataset.forging import EXPLORE
from tests.ci.logs import test_log_reading
from tests.engine_mutants.mutant import Killer, Mutant
from tests.shared.commands import kraftcheck
from tests.solvers.machine_code import test_object_cache


def _kept(folder: Path) -> Path:
    kraftcheck(*EXPLORE, "--out", folder)
    return folder


def _precious(folder: Path) -> Path:
    folder.mkdir()
    (folder / "thesis.tex").write_text("precious data")
    return folder


def _entry(folder: Path) -> Path:
    ObjectCache(folder).put(test_object_cache.KEY, test_object_cache.CODE)
    return folder / f"{test_object_cache.KEY}.o"


DATASET = {"kept": _kept, "precious": _precious}
NUMBER = Killer(test_forged_documents.test_a_value_is_of_its_kind_and_range, (2,))
KEYS = Killer(test_forged_documents.test_an_object_has_its_keys_and_no_others)
LEVEL_FILE = test_forged.LINKED.index("levels/depth=00001/part")
LINK = Killer(test_forged.test_nothing_below_a_dataset_leads_elsewhere, (1, LEVEL_FILE), DATASET)
HARD_LINK = Killer(test_forged.test_what_is_written_in_place_is_no_other_file, (0,), DATASET)
WRITABLE = Killer(test_object_cache.test_an_entry_that_others_may_write_is_compiled_anew, (0,), {"entry": _entry})
OLDEST = Killer(test_object_cache.test_the_entries_that_were_not_used_for_longest_go)


def _forged(case: int) -> Killer:
    return Killer(test_log_reading.test_a_forged_batch_is_refused, (case,))


STRANGERS = (
    Mutant("truth-as-number", "A truth in a document is a number.", "ci.dataset.documents.values:number",
           "type(value) not in (int, float) or", "", NUMBER),
    Mutant("unknown-keys-passed-over", "Keys that nobody writes are passed over.",
           "ci.dataset.documents.values:read_fields", "if word not in readers:", "if False:", KEYS),
    Mutant("link-below-a-dataset", "Links and pipes below a dataset are taken.",
           "ci.dataset.store.folders:refuse_links", "not entry.is_file(follow_symlinks=False)", "False", LINK),
    Mutant("hard-link-written", "A file is written that is another one too.",
           "solvers.machine_code.regular:open_regular", "status.st_nlink > 1", "False", HARD_LINK),
    Mutant("code-of-a-group", "Compiled code that a group may write is run.",
           "solvers.machine_code.objectcache:_foreign", "0o022", "0o002", WRITABLE),
    Mutant("cache-without-end", "The cache of compiled code grows without end.",
           "solvers.machine_code.objectcache:ObjectCache._evict", "if total <= self.most_bytes:", "if True:", OLDEST),
    Mutant("records-unread", "Bytes after the records that a batch counts are passed over.",
           "ci.logs.format.segments:_batch", "if over := rest.left():", "if over := 0:", _forged(4)),
    Mutant("records-out-of-order", "Records of a batch have any offsets.", "ci.logs.format.segments:_entry",
           "(delta := rest.signed()) != number", "(delta := rest.signed()) < 0", _forged(6)),
    Mutant("stream-without-end", "A compressed batch expands to any size.", "ci.logs.format.segments:_expanded",
           "stream.decompress(data, MAX_EXPANDED)", "stream.decompress(data)", _forged(14)),
    Mutant("stream-and-more", "Bytes after a compressed batch are passed over.", "ci.logs.format.segments:_expanded",
           "or stream.unused_data", "", _forged(13)),
)  # fmt: skip

"""Mutants of what keeps drivers apart in a store of objects, each killed by a test on a server of the S3 protocol."""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import uuid
from pathlib import Path

from kraftcheck.ci.dataset.store import objects
from kraftcheck.ci.dataset.store.objects import ObjectPath
from kraftcheck.ci.terminal.refusal import Refusal
from tests.ci.stores import test_objects, test_url_runs
from tests.ci.stores.server import serving, settings
from tests.engine_mutants.mutant import Killer, Mutant


@functools.cache
def _endpoint() -> str:
    """The URL of a server that runs as long as this process."""
    stack = contextlib.ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(serving())


def _store(_: Path) -> ObjectPath:
    """A folder of its own in that server's store."""
    os.environ.update(settings(_endpoint()))
    objects._bucket.cache_clear()
    return ObjectPath("runs", uuid.uuid4().hex)


STORE = {"store": _store}
ONCE = Killer(test_objects.test_an_object_is_made_once, (), STORE)
ALONE = Killer(test_objects.test_one_driver_at_a_time_writes_to_a_url, (), STORE)
ELSEWHERE = Killer(test_objects.test_a_driver_elsewhere_is_honoured, (0,), STORE)
OTHER_PROCESSES = Killer(test_objects.test_a_driver_elsewhere_is_honoured, (1,), STORE)
TOGETHER = Killer(test_objects.test_of_two_that_come_together_one_gets_the_lease, (), STORE)
CARELESS = Killer(test_objects.test_a_store_that_heeds_no_condition_is_refused, (), STORE)
WORKER = Killer(test_objects.test_a_worker_looks_for_the_lease_of_its_driver, (), STORE)
COMMITTED = Killer(test_url_runs.test_a_driver_whose_commit_another_made_stops, (), STORE)
UNSEEN = Killer(test_url_runs.test_a_task_that_does_not_see_the_run_writes_nothing, (), STORE)

STORES = (
    Mutant("object-made-twice", "An object that is there already is made again.",
           "ci.dataset.store.objects:ObjectPath.put_new", '"create"', '"overwrite"', ONCE),
    Mutant("object-replaced-anyway", "An object is replaced though it has changed since it was read.",
           "ci.dataset.store.objects:ObjectPath.put_instead", '{"e_tag": version}', '"overwrite"', ONCE),
    Mutant("manifest-of-another", "A manifest that another driver wrote counts as one's own.",
           "ci.dataset.store.sealed:_make", "if path.read_bytes() != data:", "if False:", COMMITTED),
    Mutant("lease-of-the-living", "A driver that lives counts as dead.",
           "ci.dataset.store.lease:_is_dead", 'return started is not None and started != owner.get("started")',
           "return True", ALONE),
    Mutant("lease-of-another-machine", "The processes of another machine are looked for on this one.",
           "ci.dataset.store.lease:_is_dead", '_boot() and owner.get("boot") == _boot() and', "", ELSEWHERE),
    Mutant("lease-of-unseen-processes", "Processes that are not seen from here count as dead.",
           "ci.dataset.store.lease:_is_dead", 'and _processes() and owner.get("processes") == _processes()', "",
           OTHER_PROCESSES),
    Mutant("lease-without-condition", "A lease is taken over whoever took it meanwhile.",
           "ci.dataset.store.lease:_lease_of_objects", "path.put_instead(document, version)",
           "(path.put(document), path.read_version()[1])[1]", TOGETHER),
    Mutant("conditions-untried", "A store that heeds no condition is used.",
           "ci.dataset.store.lease:check_conditions", "if kept != len(attempts) or not whole:", "if False:", CARELESS),
    Mutant("sight-of-any-lease", "A worker that sees another driver's lease goes to work.",
           "ci.dataset.store.sight:check_sight", "sight is not None and not", "False and not", WORKER),
    Mutant("tasks-look-for-nothing", "Tasks are not said whose lease they have to see.",
           "ci.dataset.search.levels:plan", "None if log.lease is None else log.lease.sight(),", "None,", UNSEEN,
           dies=(Refusal,)),
)  # fmt: skip

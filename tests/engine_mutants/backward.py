"""Mutants of the backward search of the Spark engine. They run without Spark."""

from __future__ import annotations

from kraftcheck.ci.dataset.search.levels import JobFailedError
from tests.ci.spark import test_spark_backward
from tests.ci.spark.faults import test_kinds
from tests.ci.spark.test_spark_damage import DAMAGES
from tests.engine_mutants.distributed import APART, BATCHES
from tests.engine_mutants.mutant import Killer, Mutant
from tests.solvers.blocks import test_closure

CUT_BACKWARD = Killer(test_spark_backward.test_what_was_cut_is_uncertain, (1,))
FOLDED = Killer(test_spark_backward.test_what_flows_to_a_state_is_all_bits)

FIXPOINT = Killer(test_closure.test_marks_rise_to_the_fixpoint, (0,))
FLIPPED = Killer(test_kinds.test_a_damaged_checkpoint_is_not_believed, (tuple(DAMAGES).index("flipped at 0.3"),))
ROUND = Killer(test_kinds.test_a_damaged_round_is_computed_again, (tuple(DAMAGES).index("swapped"),))


def backward(system: int, memory: int) -> Killer:
    """The test that recovery of a toy is judged as natively, by rounds (0) or by arcs in memory (1)."""
    return Killer(test_spark_backward.test_recovery_is_judged_as_natively, (system, memory))


BACKWARD = (
    Mutant("arcs-tag-only", "A step leads to any state whose hash has the tag of its target's.",
           "solvers.blocks.tasks:_index_of", "b.if_then(records.holds(entry.get(), state))",
           "b.if_then(records.has_tag(entry.get(), hashed))", APART),
    Mutant("arcs-of-the-first", "Of a batch of steps each leads where the first does.",
           "solvers.blocks.tasks:emit_find", "indices, b.add(at.get(), k))", "indices, at.get())", BATCHES),
    Mutant("arcs-out-lost", "A step to a state that was not explored is not noted.",
           "ci.spark.backward.arcs:_Part._list", "self._leaves.append(", "list(", CUT_BACKWARD),
    Mutant("arcs-cut-lost", "That a domain cuts a way is not brought to the state.",
           "ci.spark.backward.arcs:_Part.made", "self._leaves.append(frame[2:].reshape(-1, 2))", "pass",
           backward(1, 0)),
    Mutant("leaves-unread-in-rounds", "What leads out of the explored states is not read in the first round.",
           "ci.spark.backward.rounds:_flows", 'files.leaves, "number"', 'None, "number"', backward(1, 0)),
    Mutant("leaves-unread-here", "What leads out of the explored states is not read in the driver.",
           "ci.spark.backward.search:SparkBackward._here", 'files.leaves, "number"', 'None, "number"',
           backward(1, 1)),
    Mutant("window-unlisted", "The steps into a window are lost but for those that fill a row group.",
           "ci.spark.backward.arcs:_Part.made",
           "                    waiting = []\n            self._list(writer, candidates, waiting)",
           "                    waiting = []", backward(2, 0)),
    Mutant("steps-uncounted", "Steps that do not arrive where their targets are looked up are not missed.",
           "ci.spark.backward.search:SparkBackward._listed", "if sent != came:", "if False:",
           Killer(test_spark_backward.test_steps_that_do_not_arrive_are_an_error, (0,))),
    Mutant("steps-of-the-first", "Of the files with steps that of the first task alone is read.",
           "ci.spark.backward.arcs:StepsOfFiles.within", "for places in self._places:",
           "for places in self._places[:1]:", backward(2, 1), (JobFailedError,)),
    Mutant("arcs-dealt-late", "In memory the first arc of each state is that of the one before.",
           "solvers.blocks.closure:_emit_deal", "at = b.add(load(b, targets, k), word(1))", "at = load(b, targets, k)",
           FIXPOINT, (RuntimeError,)),
    Mutant("arcs-of-another-state", "Arcs to other states than were counted are taken.",
           "solvers.blocks.closure:HeldArcs.take", "if not np.array_equal(self._begins, ends):", "if False:",
           Killer(test_closure.test_arcs_that_were_not_counted_are_an_error)),
    Mutant("flow-once", "A state whose mark rises again does not wait again for its turn.",
           "solvers.blocks.closure:_emit_flow", "store(b, ir.Constant(BYTE, 0), waiting, target, BYTE)", "pass",
           FIXPOINT),
    Mutant("flow-any-way", "In memory all bits flow back through any arc.",
           "solvers.blocks.closure:_emit_flow",
           "b.and_(has, load(b, bits, whole(load(b, ways, k, BYTE))))", "has", FIXPOINT),
    Mutant("rise-unwritten", "Of what flows to a state only the first bits raise its mark.",
           "ci.spark.backward.rounds:folded", "np.bitwise_or.reduceat(bits, begins)", "bits[begins]", FOLDED),
    Mutant("arcs-uncounted", "Arcs of a part of the states count as all.",
           "ci.spark.backward.search:SparkBackward._listed",
           "if [part[\"part\"] for part in made] != list(range(numbering.parts)) or expanded != numbering.count:",
           "if False:", Killer(test_spark_backward.test_a_split_that_is_not_expanded_is_an_error)),
    Mutant("round-uncounted", "A round whose tasks did not all come back counts.",
           "ci.spark.backward.search:SparkBackward._round", "if len(results) != numbering.parts or sent != came:",
           "if False:", Killer(test_spark_backward.test_a_lost_result_fails_the_search, (1,))),
    Mutant("checkpoint-half", "A checkpoint is taken up though one of its files is missing.",
           "ci.spark.backward.search:BackwardLog._read", "if all(is_whole", "if True or all(is_whole",
           Killer(test_spark_backward.test_a_checkpoint_that_is_not_whole_is_not_taken_up, (0,)),
           (JobFailedError,)),
    Mutant("checkpoint-digests-unread", "A checkpoint is taken up though the bytes of one of its files have changed.",
           "ci.spark.backward.files:is_whole", "verify(folder, file) is None", "_is_there(folder, file)", FLIPPED,
           (JobFailedError,)),
    Mutant("rounds-digests-unread", "Rounds of a liveness search are taken up though the bytes of a file have changed.",
           "ci.spark.liveness.rounds:KeptRound.is_whole", "== self.sha256", ".keys() == self.sha256.keys()", ROUND),
    Mutant("arcs-checksum-unread", "The checksums of the pages of arcs are not verified.",
           "ci.spark.backward.files:read_groups", "page_checksum_verification=True",
           "page_checksum_verification=False",
           Killer(test_spark_backward.test_an_altered_file_is_an_error)),
)  # fmt: skip

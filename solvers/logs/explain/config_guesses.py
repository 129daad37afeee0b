"""The candidates for records of configurations and of features: an operator changes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import takewhile

from kraftcheck.model.controller.alter_configs import alter_config, elr_safety
from kraftcheck.model.controller.state import CLUSTER, MIN_ISR, ConfigRecord, Controller, LogRecord
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.solvers.logs.explain.guess import Candidate
from kraftcheck.solvers.logs.explain.state import ELR_FEATURE, FeatureRecord, ModelRecord


def config_candidates(controller: Controller, records: Sequence[ModelRecord], rules: RuleSet) -> Iterator[Candidate]:
    """Changes of configurations of one request: first all of them, then their consequences."""
    configs = [*takewhile(lambda record: isinstance(record, ConfigRecord), records)]
    for end in range(1, len(configs) + 1):
        first = [record for record in configs[:end] if isinstance(record, ConfigRecord)]
        action = "set_min_isr" if any(record.key == MIN_ISR for record in first) else ""
        yield Candidate("alter configurations", partial(_config_records, controller, first, rules), None, action)


def _config_records(controller: Controller, configs: Sequence[ConfigRecord], rules: RuleSet) -> tuple[LogRecord, ...]:
    config_records: tuple[LogRecord, ...] = ()
    consequences: tuple[LogRecord, ...] = ()
    for record in configs:
        written = alter_config(controller, record, rules).records
        config_records, consequences = (*config_records, *written[:1]), (*consequences, *written[1:])
    return (*config_records, *consequences)


def feature_candidates(controller: Controller, records: Sequence[ModelRecord]) -> Iterator[Candidate]:
    """The request that may have written records that begin with features, or with what is configured before.

    One request may set several features. Where it switches ELR on, min.insync.replicas is configured for the cluster
    first; the static value of the active controller, which the log does not have, is taken from the record.
    """
    configs = [*takewhile(lambda record: isinstance(record, ConfigRecord), records)]
    levels = [*takewhile(lambda record: isinstance(record, FeatureRecord), records[len(configs) :])]
    elr = [record.level for record in levels if isinstance(record, FeatureRecord) and record.name == ELR_FEATURE]
    if not elr:
        if levels and not configs:
            yield Candidate("not read by replica logic", lambda: records[:1], 1)
        return
    safety = elr_safety(controller, _static_min_isr(configs)) if elr[-1] > 0 else ()
    words, action = ("switch ELR on", "enable_elr") if elr[-1] > 0 else ("switch ELR off", "disable_elr")
    yield Candidate(words, lambda: (*safety, *levels), len(configs) + len(levels), action)


def _static_min_isr(configs: Sequence[ModelRecord]) -> str:
    """The min ISR that is configured for the cluster; empty, as no configuration is, where there is none."""
    values = (r.value for r in configs if isinstance(r, ConfigRecord) and (r.scope, r.key) == (CLUSTER, MIN_ISR))
    return next(values, None) or ""

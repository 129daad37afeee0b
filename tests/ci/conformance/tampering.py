"""Other expectations than a vector's, for tests that none of them passes."""

MODIFIERS = ("exact", "unchanged", "reason", "changes_exact")
"""Keys of an expectation that say how to compare, or that nobody compares."""


def mutations(value):
    """Other values of the same shape, each differing from the given one in one leaf."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield value + 1
    elif isinstance(value, str):
        yield value + "x"
    elif value is None:
        yield 7
    elif isinstance(value, list):
        yield [*value, 77]
        if value:
            yield value[:-1]
        if len(value) > 1 and value[0] != value[-1]:
            yield value[::-1]
        for n, item in enumerate(value):
            for other in mutations(item):
                yield [*value[:n], other, *value[n + 1 :]]
    else:
        for key, item in value.items():
            for other in mutations(item):
                yield {**value, key: other}
        yield {**value, "no_such_field": 1}


def tampered(raw):
    """Pairs of a key of the vector's expectation and another value for it that must not pass."""
    for key, value in raw["then"].items():
        if key in MODIFIERS:
            continue
        for other in other_results(value) if key == "queries" else mutations(value):
            if essence(raw["function"], key, other) != essence(raw["function"], key, value):
                yield key, other


def other_results(queries):
    """The queries with one other result; what is asked stays."""
    for n, query in enumerate(queries):
        for other in mutations(query["result"]):
            yield [*queries[:n], {**query, "result": other}, *queries[n + 1 :]]


def essence(function, key, value):
    """The expectation without what is not compared: orders of what compares as sets, reasons."""
    if key in ("usable_brokers", "placement_counts"):
        return in_some_order(value)
    if function == "build_change":
        return plain(value)
    if function != "scenario":
        return value
    if key == "with_reference_random" and isinstance(value, dict):
        return {name: essence(function, name, item) for name, item in value.items()}
    if key == "queries":
        return [in_some_order(query["result"]) for query in value]
    if key in ("response", "changes", "broker_changes") and isinstance(value, list):
        rows = [plain(row) for row in value]
        return sorted(rows, key=lambda row: repr([row.get(name) for name in ROW] if isinstance(row, dict) else row))
    return plain(value)


ROW = ("broker", "dir", "topic", "partition")  # what rows are known by


def plain(value):
    """A value without reasons and negative matchers, and with its sets in one order."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    sets = ("elr", "last_known_elr", "replicas_set", "dirs")
    kept = {key: item for key, item in value.items() if key not in ("reason", "leader_not")}
    return {key: in_some_order(item) if key in sets else plain(item) for key, item in kept.items()}


def in_some_order(value):
    """A list as a sorted one, anything else as it is."""
    return sorted(value, key=repr) if isinstance(value, list) else value

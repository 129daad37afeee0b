"""The SQL of the views of a dataset, for the engines that answer questions about it.

The packed rows of the levels are a view `packed`: depth, id, parent, action, the words w0, w1, ... and the words of
claims. `states` and `transitions` are made of it by expressions, so that an engine computes only the columns that
a question names, and filters reach the files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import frozen

from kraftcheck.ci.dataset.decoding import column_name
from kraftcheck.ci.dataset.store.dataset import Dataset
from kraftcheck.solvers.blocks.tasks import CLAIMS_PER_WORD

SUCCESSORS = "kraftcheck_successors"
"""The SQL function of a state's words: the list of its transitions, each the instance and the words after it."""

LEVELS = (
    "depth int, states bigint, engine string, seconds double, candidates bigint, shuffled_bytes bigint, "
    "spilled_bytes bigint, visited_bytes bigint, memory_bytes bigint, file_bytes bigint"
)


@frozen
class Dialect:
    """Where the SQL of engines differs.

    Attributes:
        quote: around a name.
        shift: a word shifted to the right.
        pick: one of a list of texts, by its place from 1 on.
    """

    quote: str
    shift: Callable[[str, int], str]
    pick: Callable[[Sequence[str], str], str]

    def name(self, name: str) -> str:
        """A column's name."""
        return f"{self.quote}{name}{self.quote}"


def _texts(texts: Sequence[str]) -> str:
    return ", ".join("'" + text.replace("'", "''") + "'" for text in texts)


DUCKDB = Dialect('"', lambda word, by: f"({word} >> {by})", lambda texts, place: f"([{_texts(texts)}])[{place}]")
SPARK = Dialect(
    "`", lambda word, by: f"shiftright({word}, {by})",
    lambda texts, place: f"element_at(array({_texts(texts)}), CAST({place} AS INT))",
)  # fmt: skip


def field_sql(field: Mapping[str, Any], to: Dialect, words: str = "w") -> str:
    """A field's value as SQL over the packed words, computed only for rows and columns that a question asks for.

    A shift that keeps the sign is right: the mask drops the copies of the sign bit.
    """
    if field.get("names"):
        return to.pick(field["names"], field_sql({**field, "names": [], "lo": 1}, to, words))
    if not field["bits"]:
        value = str(field["lo"])
        return f"({value} = 1)" if field["truth"] else value
    raw = f"({to.shift(words + str(field['word']), field['shift'])} & {(1 << field['bits']) - 1})"
    if field["truth"]:
        return f"({raw} = 1)"
    return f"({raw} + {field['lo']})" if field["lo"] else raw


def fields_sql(data: Dataset, to: Dialect, prefix: str = "", words: str = "w") -> list[str]:
    """Named columns of a packed state, `after_` and the like before their names."""
    fields = data.table["fields"]
    return [f"{field_sql(one, to, words)} AS {to.name(prefix + column_name(one['name']))}" for one in fields]


def action_sql(data: Dataset, to: Dialect, number: str) -> list[str]:
    """Name and arguments of an action instance; null for initial states."""
    actions = data.table["actions"]
    arguments = [" ".join(f"{k}={v}" for k, v in action["arguments"].items()) for action in actions]
    return [
        f"CASE WHEN {number} >= 0 THEN {to.pick(texts, f'{number} + 1')} END AS {name}"
        for name, texts in (("action", [action["name"] for action in actions]), ("arguments", arguments))
    ]


def claims_sql(data: Dataset, to: Dialect) -> list[str]:
    """For each claim about states whether this state breaks (or shows) it."""
    columns = []
    for number, claim in enumerate(data.table["claims"]):
        verb = "breaks" if claim["kind"] == "always" else "shows"
        name = claim["id"].replace("-", "_").replace(".", "_")
        column = name if name.startswith("shows_") and verb == "shows" else f"{verb}_{name}"
        word, bit = divmod(number, CLAIMS_PER_WORD)
        columns.append(f"({to.shift(f'claims{word}', bit)} & 1) = 1 AS {to.name(column)}")
    return columns


def states_sql(data: Dataset, to: Dialect) -> str:
    """The query behind `states`."""
    columns = ["depth", "id", "parent", "action AS instance", *action_sql(data, to, "action")]
    return f"SELECT {', '.join([*columns, *fields_sql(data, to), *claims_sql(data, to)])} FROM packed"


def transitions_sql(data: Dataset, to: Dialect, unnest: str) -> str:
    """The query behind `transitions`: fields of the state before are columns of what is unnested.

    So an engine can ask them of the states, before it computes a transition.

    Args:
        data: the dataset.
        to: the engine's SQL.
        unnest: the engine's function that makes rows of a list.
    """
    words = range(data.table["words"])
    before = [to.name(column_name(one["name"])) for one in data.table["fields"]]
    arguments = ", ".join(f"w{i}" for i in words)
    columns = ["depth", "id", *fields_sql(data, to), f"{unnest}({SUCCESSORS}({arguments})) AS _step"]
    inner = f"SELECT {', '.join(columns)} FROM packed"
    taken = [f"_step.v{i} AS _v{i}" for i in words]
    middle = f"SELECT depth, id, _step.instance AS instance, {', '.join([*before, *taken])} FROM ({inner})"
    after = fields_sql(data, to, "after_", "_v")
    outer = ["depth", "id", "instance", *action_sql(data, to, "instance"), *before, *after]
    return f"SELECT {', '.join(outer)} FROM ({middle})"


def level_rows(data: Dataset) -> list[tuple[Any, ...]]:
    """The rows of the view `levels`."""
    return [
        (
            level.depth, level.rows, level.engine, float(level.cost.get("seconds", 0)),
            *(int(level.cost.get(name, 0)) for name in ("candidates", "shuffled", "spilled", "visited", "peak")),
            level.bytes,
        )
        for level in data.levels
    ]  # fmt: skip

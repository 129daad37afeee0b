"""The page of questions: useful ones about a space, with their answers."""

import tempfile
from collections.abc import Mapping
from pathlib import Path

from kraftcheck.ci.dataset.duckdb_engine import duckdb_engine
from kraftcheck.ci.dataset.store.dataset import Dataset
from tests.shared.commands import kraftcheck

LIMIT = 8
EXPLORE = ("explore", "elections", "--scope", "tiny", "--rules", "fixed", "--engine", "disk", "--quiet", "--out")

HEAD = f"""# Twenty questions about a space

Questions that are worth asking of any explored space, with the answers for one: copy, change, ask again.

The space is `kraftcheck explore elections --scope tiny --rules fixed --engine disk --out OUT`, and a question is asked
by `kraftcheck query OUT "SQL"`. The answers are made with the site. At most {LIMIT} rows are shown.
[Asking a space](../how-to/query.md) explains the tables.
"""

QUESTIONS: Mapping[str, str] = {
    "How large is the space, and how deep?": "SELECT count(*) AS states, max(depth) AS depth FROM states",
    "How does it grow?": "SELECT depth, states, round(states / lag(states) OVER (ORDER BY depth), 2) AS factor\n"
    "FROM levels ORDER BY depth",
    "How many steps can be taken, of each action?": "SELECT action, count(*) AS transitions, count(DISTINCT arguments) "
    "AS arguments\nFROM transitions GROUP BY action ORDER BY transitions DESC, action",
    "Which actions found new states?": "SELECT action, count(*) AS found\n"
    "FROM states WHERE depth > 0 GROUP BY action ORDER BY found DESC, action",
    "How early does each action first happen?": "SELECT action, min(depth) AS first FROM transitions\n"
    "GROUP BY action ORDER BY first DESC, action",
    "In how many states is there no leader?": "SELECT leader IS NULL AS leaderless, count(*) AS states,\n"
    "       min(depth) AS first\nFROM states GROUP BY leaderless ORDER BY leaderless",
    "Which leaderless states could elect from the ELR at once?": "SELECT depth, count(*) AS states FROM states\n"
    "WHERE leader IS NULL AND size(array_intersect(array_except(elr, fenced), registered)) > 0\n"
    "GROUP BY depth ORDER BY depth",
    "Which sizes do ISR and ELR have together?": "SELECT size(isr) AS isr, size(elr) AS elr,\n"
    "       count(*) AS states\nFROM states GROUP BY ALL ORDER BY isr, elr",
    "Is there a leader outside the ISR?": "SELECT count(*) AS states FROM states\n"
    "WHERE leader IS NOT NULL AND NOT has(isr, leader)",
    "Which properties are broken anywhere?": "SELECT count_if(breaks_leader_active) AS leader_active,\n"
    "       count_if(breaks_leader_in_isr) AS leader_in_isr,\n"
    "       count_if(breaks_elr_within_replicas) AS elr_within_replicas\nFROM states",
    "Which goals are reached, how often and how early?": "SELECT 'leaderless' AS goal, count(*) AS states, "
    "min(depth) AS first FROM states WHERE shows_leaderless\nUNION ALL SELECT 'recovering', count(*), min(depth) "
    "FROM states WHERE shows_recovering\nUNION ALL SELECT 'elr', count(*), min(depth) FROM states "
    "WHERE shows_elr\nORDER BY goal",
    "Which steps change the leader?": "SELECT action, count(*) AS transitions FROM transitions\n"
    "WHERE after_leader IS DISTINCT FROM leader GROUP BY action ORDER BY transitions DESC, action",
    "Which steps lose the leader?": "SELECT action, arguments, count(*) AS transitions FROM transitions\n"
    "WHERE leader IS NOT NULL AND after_leader IS NULL GROUP BY ALL ORDER BY transitions DESC, action, arguments",
    "Which steps elect uncleanly?": "SELECT action, count(*) AS transitions, min(depth) AS first FROM transitions\n"
    "WHERE after_leader IS DISTINCT FROM leader AND after_leader IS NOT NULL\n"
    "  AND NOT has(isr, after_leader) AND NOT has(elr, after_leader)\n"
    "GROUP BY action ORDER BY transitions DESC, action",
    "Which steps change neither assignment nor leadership?": "SELECT action, count(*) AS transitions FROM transitions\n"
    "WHERE leader IS NOT DISTINCT FROM after_leader AND isr = after_isr AND elr = after_elr AND fenced = after_fenced\n"
    "  AND replicas = after_replicas AND registered = after_registered\n"
    "GROUP BY action ORDER BY transitions DESC, action",
    "Which values does a field take, and how often?": "SELECT last_known_elr, count(*) AS states FROM states\n"
    "GROUP BY ALL ORDER BY last_known_elr",
    "Where are the states with most ways on?": "SELECT steps, depth, count(*) AS states\n"
    "FROM (SELECT depth, id, count(*) AS steps FROM transitions GROUP BY depth, id)\n"
    "GROUP BY steps, depth ORDER BY steps DESC, depth LIMIT 4",
    "How many ways on does a state have?": "SELECT min(steps) AS least, round(avg(steps), 2) AS mean,\n"
    "       max(steps) AS most\nFROM (SELECT count(*) AS steps FROM transitions GROUP BY depth, id)",
    "What was done one step before the deepest states?": "SELECT p.action, p.arguments, count(*) AS states\n"
    "FROM states c JOIN states p ON p.depth = c.depth - 1 AND p.id = c.parent\n"
    "WHERE c.depth = (SELECT max(depth) FROM levels) GROUP BY ALL ORDER BY states DESC, p.action, p.arguments",
    "Does it depend on the broker's number?": "SELECT count_if(leader = 0) AS leader_0,\n"
    "       count_if(leader = 1) AS leader_1,\n"
    "       count_if(has(isr, 0)) AS isr_0, count_if(has(isr, 1)) AS isr_1 FROM states",
}
"""Questions in words and in SQL that DuckDB and Spark both take."""


def answered(data: Dataset) -> str:
    """The text of the page, with the answers of a space."""
    parts = [HEAD]
    with duckdb_engine(data, 2, "used") as engine:
        for number, (question, sql) in enumerate(QUESTIONS.items(), start=1):
            answer = engine.ask(sql, LIMIT)
            rows = [f"| {' | '.join('' if value is None else str(value) for value in row)} |" for row in answer.rows]
            head = [f"| {' | '.join(answer.columns)} |", "|---" * len(answer.columns) + "|"]
            more = ["", "and more."] if answer.more else []
            parts.append("\n".join([f"## {number}. {question}", "", "```sql", sql, "```", "", *head, *rows, *more, ""]))
    return "\n".join(parts)


def page() -> str:
    """Explore the space, and make the page."""
    with tempfile.TemporaryDirectory(prefix="kraftcheck-questions-") as place:
        ran = kraftcheck(*EXPLORE, Path(place) / "out")
        if ran.code:
            raise RuntimeError(ran.err)
        return answered(Dataset.open(Path(place) / "out"))

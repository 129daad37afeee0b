"""The page of mistakes: docs/how-to/mistakes.md."""

from tests.documentation.mistakes.answers import ANSWERS
from tests.documentation.mistakes.hall import END, START
from tests.documentation.mistakes.mistake import Mistake
from tests.documentation.mistakes.questions import QUESTIONS
from tests.documentation.mistakes.verdicts import VERDICTS

MISTAKES = [*QUESTIONS, *ANSWERS, *VERDICTS]

INTRODUCTION = f"""\
# Understand what kraftcheck says of a mistake

{len(MISTAKES)} mistakes of a system of your own: what is written, what kraftcheck says of it, and what to write.

A rule is called with words that stand for every value of their domains. Python cannot decide on such a word, so each
question that Python would decide is refused, with its line and the word to use. A refusal is one line, and the exit
code is 2. What is no error, but checks less than it seems, has a verdict of its own, `vacuous` or
`incomplete`, or is said beside the verdicts.

This is `hall.py`. Each section writes some of its rules anew, in the line `# here`; Python takes the last definition.

```python
{START}# here
{END}```
"""


def section(mistake: Mistake) -> str:
    """A section of the page."""
    says = f"kraftcheck: {mistake.says}" if mistake.code == 2 else f"{mistake.says}    (exit code {mistake.code})"
    shown = says.format(one="...", other="...") if "{one}" in says else says
    wrong, right = (f"```python\n{code}```\n" for code in (mistake.wrong, mistake.right))
    return f"### {mistake.title}\n\n{wrong}\n```text\n{shown}\n```\n\nWrite:\n\n{right}"


def page() -> str:
    """The page."""
    parts = [INTRODUCTION]
    for heading, mistakes in (
        ("## Python would decide", QUESTIONS), ("## A rule gives something else", ANSWERS),
        ("## Less is checked than it seems", VERDICTS),
    ):  # fmt: skip
        parts += [f"{heading}\n", *map(section, mistakes)]
    return "\n".join(parts)

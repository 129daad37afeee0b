#!/usr/bin/env python3
"""Ask a solver about each text of the certificate in this folder; nothing else is needed.

python3 check.py             asks cvc5: its command, or else its Python package
python3 check.py z3 -smt2    asks another solver: a command, to which the name of a file is added
"""

import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import sys

FILE = ("file", "status", "sha256")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def answer(command: list[str], file: pathlib.Path) -> str:
    """What the solver says of a file."""
    if command != ["cvc5"] or shutil.which("cvc5"):
        return subprocess.run([*command, str(file)], capture_output=True, text=True, check=False).stdout.strip()
    import cvc5

    parser = cvc5.InputParser(solver := cvc5.Solver(cvc5.TermManager()))
    parser.setFileInput(cvc5.InputLanguage.SMT_LIB_2_6, str(file))
    said = ""
    while not (line := parser.nextCommand()).isNull():
        said += str(line.invoke(solver, parser.getSymbolManager()))
    return said.strip()


def texts(index: dict[str, object], key: str) -> list[str]:
    """A list of texts in the index."""
    found = index.get(key)
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise ValueError(f"{key} is no list of texts")
    return found


def entry(listed: object, *keys: str, statuses: tuple[str, ...] = ("unsat",)) -> dict[str, str]:
    """An obligation in the index, whose file is beside it and whose answer may not be left out."""
    fits = isinstance(listed, dict) and all(isinstance(listed.get(key), str) for key in (*keys, *FILE))
    if not isinstance(listed, dict) or not fits or not NAME.fullmatch(listed["file"]):
        raise ValueError(f"{str(listed)[:60]!r} is no obligation")
    if listed["status"] not in statuses:
        raise ValueError(f"{listed['file']}: status {listed['status'][:20]!r} is not asked of a solver")
    return listed


def faults(folder: pathlib.Path, command: list[str]) -> list[str]:
    """An obligation that is missing, a file that is not the one listed, an answer that is not the expected one."""
    index = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    if not isinstance(index, dict) or not isinstance(index.get("obligations"), list):
        raise ValueError("obligations is no list")
    invariants, steps, actions = (texts(index, key) for key in ("invariants", "steps", "actions"))
    if not [*invariants, *steps] or not actions:
        raise ValueError("it claims nothing")
    every = [entry(one, "claim", "action") for one in index["obligations"]]
    claims = [*invariants, *steps, "domains"]
    wanted = {(c, "initially") for c in invariants} | {(c, a) for c in claims for a in actions}
    wrong = [f"{c}, {a}: not listed" for c, a in sorted(wanted - {(one["claim"], one["action"]) for one in every})]
    for one in [entry(index.get("invariant"), statuses=("sat", "")), *every]:
        file, status = folder / one["file"], one["status"]
        if file.is_symlink() or not file.is_file() or hashlib.sha256(file.read_bytes()).hexdigest() != one["sha256"]:
            wrong.append(f"{file.name}: not the file that was written")
        elif status and (said := answer(command, file)) != status:
            wrong.append(f"{file.name}: {said or 'no answer'}, not {status}")
    return wrong


if __name__ == "__main__":
    try:
        found = faults(pathlib.Path(__file__).resolve().parent, sys.argv[1:] or ["cvc5"])
    except (ImportError, OSError) as error:
        sys.exit(f"there is no such solver, or no such file: {error}")
    except (ValueError, RecursionError) as error:
        print(f"index.json is no list of a certificate: {str(error).splitlines()[0]}", file=sys.stderr)
        sys.exit(2)
    print(*found or ["every obligation is unsat"], sep="\n")
    sys.exit(bool(found))

#!/usr/bin/env python3
"""Ask a solver about each text of the certificate in this folder; nothing else is needed.

python3 check.py             asks cvc5: its command, or else its Python package
python3 check.py z3 -smt2    asks another solver: a command, to which the name of a file is added
"""

import hashlib
import json
import pathlib
import shutil
import subprocess
import sys


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


def faults(folder: pathlib.Path, command: list[str]) -> list[str]:
    """An obligation that is missing, a file that is not the one listed, an answer that is not the expected one."""
    index = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    claims, every = [*index["invariants"], *index["steps"], "domains"], index["obligations"]
    wanted = {(c, "initially") for c in index["invariants"]} | {(c, a) for c in claims for a in index["actions"]}
    wrong = [f"{c}, {a}: not listed" for c, a in wanted - {(entry["claim"], entry["action"]) for entry in every}]
    for entry in [index["invariant"], *every]:
        file, status = folder / entry["file"], entry["status"]
        if not file.exists() or hashlib.sha256(file.read_bytes()).hexdigest() != entry["sha256"]:
            wrong.append(f"{file.name}: not the file that was written")
        elif status and (said := answer(command, file)) != status:
            wrong.append(f"{file.name}: {said or 'no answer'}, not {status}")
    return wrong


if __name__ == "__main__":
    try:
        found = faults(pathlib.Path(__file__).resolve().parent, sys.argv[1:] or ["cvc5"])
    except (ImportError, OSError) as error:
        sys.exit(f"there is no such solver, or no such file: {error}")
    print(*found or ["every obligation is unsat"], sep="\n")
    sys.exit(bool(found))

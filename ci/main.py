"""The command line `kraftcheck`. Everything else is imported only once Ctrl-C is handled."""

from __future__ import annotations

import gc
import os
import resource
import signal
import sys

LEAST_ADDRESSES = 640 << 20
"""Bytes of address space without which the libraries cannot be loaded; they take less of memory."""
NEW_OBJECTS = 50_000
"""New objects before a collection of garbage: a graph of terms is many objects, and hardly one is garbage."""


def main() -> None:
    """Run the command line: whatever goes wrong is one line on standard error and an exit code above 0."""
    signal.signal(signal.SIGINT, _interrupted)  # what watches for it takes a while to be imported
    from kraftcheck.ci.terminal import interrupts

    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the caller
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < LEAST_ADDRESSES:
        needed = f"{LEAST_ADDRESSES >> 20} MB are needed: ulimit -v {LEAST_ADDRESSES >> 10}"
        print(f"kraftcheck: the address space is limited to {limit >> 20} MB, and {needed}", file=sys.stderr)
        sys.exit(2)
    gc.set_threshold(NEW_OBJECTS, 20, 100)
    interrupts.begin()
    code = interrupts.EXIT_INTERRUPTED
    try:
        from kraftcheck.ci.terminal.commands import run

        code = run()
    except KeyboardInterrupt:
        interrupts.announce()
    except BaseException:
        if not interrupts.interrupted():
            raise
    interrupts.end()
    if interrupts.interrupted():  # whatever it was taken for on its way up
        interrupts.abandon(interrupts.EXIT_INTERRUPTED)
    sys.exit(code)


def _interrupted(*_: object) -> None:
    os.write(2, b"kraftcheck: interrupted\n")
    os._exit(130)  # interrupts.EXIT_INTERRUPTED


if __name__ == "__main__":
    main()

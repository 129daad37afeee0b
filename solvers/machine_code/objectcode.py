"""Object code for a processor: compiled on one machine, loaded on another of the same kind; and a cache of it on disk.

An entry of the cache is named by a hash of everything the code depends on. It is written to a temporary name and
renamed; its own checksum, of key and code, tells whether it is whole and in its place. A checksum says nothing of who
wrote it: so an entry counts only where nobody but this user can have written it. Nothing of it fails: what cannot be
read or written is a warning.

Nothing here knows the model: a process that only runs kernels imports this and no rule.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import os
import stat
import tempfile
from collections.abc import Callable
from enum import IntEnum
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy.typing as npt
from attrs import define, field, frozen
from llvmlite import ir

from kraftcheck.solvers.machine_code.regular import open_folder, open_regular

FEW_PASSES = ("sroa", "simplify_cfg", "new_gvn", "aggressive_dce", "simplify_cfg")
"""Enough for branch-free rules: a third of the time of LLVM's -O2, most of which goes into combining instructions
again and again, for code that runs about a tenth slower (ADR 11)."""


class CompileEffort(IntEnum):
    """What the compiler does: LEAST is LLVM's -O0, LITTLE a few passes, MOST its -O2; each runs faster (ADR 11)."""

    LEAST = 0
    LITTLE = 1
    MOST = 2


WORTH = {CompileEffort.LITTLE: 1 << 23, CompileEffort.MOST: 1 << 27}
"""Generated states from which on code of an effort pays for the seconds that it takes to compile."""


def effort_for(generated: int) -> CompileEffort:
    """The effort that code is worth which generates so many states."""
    return max((effort for effort, least in WORTH.items() if generated >= least), default=CompileEffort.LEAST)


class ForeignCodeError(RuntimeError):
    """Object code that this machine's processor cannot run."""


@frozen
class CodeTarget:
    """The processor that object code is compiled for."""

    triple: str  # architecture, vendor and system, as LLVM writes them
    cpu: str  # LLVM's name of the processor
    features: str  # instruction set extensions as LLVM writes them, `+avx2,-avx512f,...`

    def needs(self) -> frozenset[str]:
        """The extensions that the code may use."""
        return frozenset(word[1:] for word in self.features.split(",") if word.startswith("+"))


def host() -> CodeTarget:
    """This machine's processor."""
    features = llvm.get_host_cpu_features().flatten()
    return CodeTarget(llvm.get_default_triple(), llvm.get_host_cpu_name(), features)


def portable() -> CodeTarget:
    """The oldest processor of this machine's architecture: every worker of that architecture runs its code."""
    triple = llvm.get_default_triple()
    old = {"x86_64": ("x86-64", "+cmov,+cx8,+fxsr,+mmx,+sse,+sse2"), "aarch64": ("generic", "+neon")}
    return CodeTarget(triple, *old.get(triple.split("-")[0], ("generic", "")))


def check_target(made_for: CodeTarget, worker: CodeTarget) -> None:
    """Refuse code that this processor would trap on; raises ForeignCodeError, naming what is missing."""
    code_architecture, worker_architecture = made_for.triple.split("-")[0], worker.triple.split("-")[0]
    if code_architecture != worker_architecture:
        raise ForeignCodeError(
            f"the kernel was compiled for {code_architecture} and this worker is {worker_architecture}"
        )
    missing = sorted(made_for.needs() - worker.needs())
    if missing:
        raise ForeignCodeError(
            f"the kernel was compiled for {made_for.cpu} and this worker's {worker.cpu} lacks "
            f"{', '.join(missing[:4])}; use --portable-code"
        )


def _machine(target: CodeTarget, effort: CompileEffort = CompileEffort.MOST) -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=target.cpu, features=target.features, opt=0 if effort == CompileEffort.LEAST else 2, jit=True
    )


def object_code(
    module: ir.Module, target: CodeTarget | None = None, *, effort: CompileEffort = CompileEffort.MOST
) -> bytes:
    """The module optimised and compiled for a processor.

    Args:
        target: the processor; None: this machine's.
        effort: less is sooner there, and slower to run.
    """
    machine = _machine(target or host(), effort)
    parsed = llvm.parse_assembly(str(module))
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    options.loop_vectorization = True
    builder = llvm.create_pass_builder(machine, options)
    passes = builder.getModulePassManager()
    if effort < CompileEffort.MOST:
        passes = llvm.create_new_module_pass_manager()
        for name in FEW_PASSES if effort == CompileEffort.LITTLE else ():
            getattr(passes, f"add_{name}_pass")()
    passes.run(parsed, builder)
    code: bytes = machine.emit_object(parsed)
    return code


class Library:
    """Object code loaded into this process; its functions take words and pointers and return a word."""

    def __init__(self, code: bytes) -> None:
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine(host()))
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self._engine.finalize_object()

    def function(self, name: str, parameters: int) -> Callable[..., int]:
        """A public function by name."""
        kind = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * parameters)
        return kind(self._engine.get_function_address(name))


@functools.lru_cache(maxsize=16)
def made(emit: Callable[..., ir.Module], *sizes: int) -> Library:
    """The code of a module that depends on no program, made once in a process."""
    return Library(object_code(emit(*sizes)))


def address(array: npt.NDArray[Any]) -> int:
    """Where an array's elements are."""
    return int(array.ctypes.data)


_MAGIC = b"kraftcheck object 2\n"
_SUFFIX, _DRAFT = ".o", ".tmp"

MOST_BYTES = 1 << 29  # bytes that a cache holds; beyond them the entries that were not used for longest go
MOST_ENTRY_BYTES = 1 << 27  # bytes of an entry; none of a larger file is read


@define
class ObjectCache:
    """A folder of object files."""

    folder: Path | None  # where they are; None: keep none
    warnings: list[str] = field(factory=list)  # one line for each thing that went wrong
    most_bytes: int = MOST_BYTES  # what they take at most

    def get(self, key: str) -> bytes | None:
        """The object code of a key; None when there is none, it is damaged, or others could have written it."""
        if self.folder is None or not self._is_own():
            return None
        path = self._path(self.folder, key)
        try:
            handle = open_regular(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            self._warn(f"cannot read compiled code {path}: {error.strerror}; compiling again")
            return None
        with os.fdopen(handle, "rb") as file:
            status = os.fstat(handle)
            fault, content = _foreign(status), b""
            if not fault and status.st_size <= MOST_ENTRY_BYTES:
                content = file.read(status.st_size)
                with contextlib.suppress(OSError):
                    os.utime(handle)  # it is used: others go before it
        code = content[len(_MAGIC) + 32 :]
        if content[: len(_MAGIC) + 32] != _head(key, code):
            self._warn(f"compiled code {path} {fault or 'is damaged'}; compiling again")
            return None
        return code

    def put(self, key: str, code: bytes) -> None:
        """Keep the object code of a key."""
        if self.folder is None:
            return
        try:
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            self.folder.mkdir(mode=0o700, exist_ok=True)
            if not self._is_own():
                return
            handle, name = tempfile.mkstemp(dir=self.folder, suffix=_DRAFT)  # nobody else may read or write it
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(_head(key, code) + code)
                os.replace(name, self._path(self.folder, key))
            except OSError:
                os.unlink(name)
                raise
            self._evict(self.folder)
        except OSError as error:
            self._warn(f"cannot keep compiled code in {self.folder}: {error.strerror}")

    def _path(self, folder: Path, key: str) -> Path:
        return folder / f"{key}{_SUFFIX}"

    def _is_own(self) -> bool:
        """Whether the folder is there and this user's alone, once what others may do in it is taken from them."""
        try:
            handle = open_folder(self.folder or Path())
        except FileNotFoundError:
            return False
        except OSError as error:
            self._warn(f"compiled code is not kept in {self.folder}: {error.strerror}")
            return False
        try:
            status = os.fstat(handle)
            if status.st_uid != os.geteuid():
                self._warn(f"compiled code is not kept in {self.folder}, which {_foreign(status)}")
                return False
            if stat.S_IMODE(status.st_mode) & 0o077:
                os.fchmod(handle, 0o700)  # an entry that others have put there is still theirs
            return True
        except OSError as error:
            self._warn(f"compiled code is not kept in {self.folder}: {error.strerror}")
            return False
        finally:
            os.close(handle)

    def _evict(self, folder: Path) -> None:
        """Remove entries, those that were used last at last, until the others take less than the most."""
        files = []
        for name in os.listdir(folder):
            try:
                status = os.lstat(folder / name)
            except FileNotFoundError:  # another process has removed it, or has given a draft its name
                continue
            if stat.S_ISREG(status.st_mode) and name.endswith((_SUFFIX, _DRAFT)):
                files.append((status.st_mtime_ns, name, status.st_size))
        total = sum(size for _, _, size in files)
        for _, name, size in sorted(files)[:-1]:
            if total <= self.most_bytes:
                return
            (folder / name).unlink(missing_ok=True)  # another process may have done so
            total -= size

    def _warn(self, line: str) -> None:
        if line not in self.warnings:
            self.warnings.append(line)


def _head(key: str, code: bytes) -> bytes:
    """The beginning of an entry: a mark, and the checksum of its key and its code."""
    return _MAGIC + hashlib.sha256(f"{key}\n".encode() + code).digest()


def _foreign(status: os.stat_result) -> str:
    """Why others may have written a file; empty where they cannot have."""
    if status.st_uid != os.geteuid():
        return f"belongs to another user ({status.st_uid})"
    return "may be written by other users" if stat.S_IMODE(status.st_mode) & 0o022 else ""

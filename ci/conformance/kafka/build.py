"""A build of Kafka whose classes are driven: a released one, or jars and classes of one's own before a release's."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence, Set
from pathlib import Path

from attrs import frozen

from kraftcheck.ci.conformance.kafka.coverage.noted import Noted, UnrunMethod
from kraftcheck.ci.conformance.kafka.jars import (
    CONTROLLER,
    any_jars,
    digest_of,
    digests,
    digests_below,
    jars,
    known_versions,
    listed,
)
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.nearest import nearest

_VERSION = re.compile(r"\d+\.\d+\.\d+(-rc\d+)?")
_JAR = re.compile(r"(?P<artifact>.+?)-\d[\w.+-]*\.jar")
_NUMBERS = re.compile(r"(?<=-)\d+\.\d+\.\d+")
_NOT_DRIVEN = re.compile(r".*-(sources|javadoc|scaladoc|tests?|test-fixtures)\.jar|(log4j|logback|slf4j-).*")
"""Jars of a folder that hold no classes to run, or bind the log: a driver writes none."""

_CLASSES, _OWN = "build/classes/java/main", "org/apache/kafka/"
_MODULE = re.compile(r"kafka[-_]|connect-")
"""How jars of Kafka's modules begin, of which a distribution has more than the controller stands on."""

_OF_ONE_JAVA = re.compile(rf"META-INF/versions/\d+/{_OWN}")
"""How the path of a class begins, in a jar of several releases, that a newer Java loads in the place of another."""

_MANAGERS = f"{_OWN}controller/ReplicationControlManager.class"
_MODULES = ("metadata", "server-common", "clients", "raft")
"""The modules of a checkout whose classes the controller consists of; the first has to be built."""

DECIDING = ("metadata", "server-common", "raft")  # those by which a controller decides, and a broker applies it

_MOST = 0.9  # a module that has so many of its release's classes is taken for built whole

OLDEST_JAVA = 17  # the Java that every driver needs at least
_FIRST_JAVA = 44  # the version of class files less that of Java; both rise together


@frozen
class Part:
    """A jar, or a folder of classes, that comes before the jars of a release."""

    path: Path  # where it is
    artifact: str  # the jar of a release in whose place it comes, without its version; empty for single classes
    digest: str  # its SHA-256; of a folder that of all paths and digests below it

    @classmethod
    def of(cls, path: Path) -> Part:
        """The part at a path; raises Refusal for what is neither a jar nor a folder of classes."""
        if path.is_dir():
            below = json.dumps(sorted(digests_below(path).items()))
            module = path.parents[3].name if str(path).endswith(_CLASSES) else ""
            return cls(path, f"kafka-{module}" if module else "", hashlib.sha256(below.encode()).hexdigest())
        digest, named = digest_of(path.resolve()), _JAR.fullmatch(path.name)
        if digest is None or not zipfile.is_zipfile(path):
            raise Refusal(f"{path} is no jar{_root_of(path)}")
        return cls(path, named["artifact"] if named else path.stem, digest)

    @functools.cached_property
    def members(self) -> tuple[str, ...]:
        """The paths within it of classes, those that some Java alone loads among them."""
        if self.path.is_dir():
            return tuple(str(file.relative_to(self.path)) for file in self.path.rglob("*.class"))
        with zipfile.ZipFile(self.path) as jar:
            return tuple(name for name in jar.namelist() if name.endswith(".class"))

    @property
    def classes(self) -> tuple[str, ...]:
        """The members that every Java loads."""
        return tuple(name for name in self.members if not name.startswith("META-INF"))

    @property
    def own(self) -> Iterator[str]:
        """Those of Kafka's."""
        return (name for name in self.classes if name.startswith(_OWN))

    @property
    def is_released(self) -> bool:
        """Whether it is a jar of some release that is known."""
        return self.digest in digests().values()

    def sums(self) -> dict[str, int]:
        """The CRC-32 of each class of Kafka's, by its path, as a released jar says it; what is read of another."""
        if self.path.is_dir():
            return {name: zlib.crc32(self.bytes_of(name)) for name in self.own}
        if self.digest and not self.is_released:
            return self._read_sums()
        with zipfile.ZipFile(self.path) as jar:
            members = (one for one in jar.infolist() if one.filename.endswith(".class"))
            return {one.filename: one.CRC for one in members if one.filename.startswith(_OWN)}

    def _read_sums(self) -> dict[str, int]:
        """Those of a jar, of what is read; raises Refusal for one that says another of itself, which Java would run."""
        found = dict[str, int]()
        with zipfile.ZipFile(self.path) as jar:
            for name in self.own:
                try:
                    found[name] = zlib.crc32(jar.read(name))
                except (zipfile.BadZipFile, zlib.error, EOFError) as reason:
                    raise Refusal(f"{self.path}: {name} is damaged ({reason}); build the jar anew") from None
        return found

    def bytes_of(self, member: str) -> bytes:
        """What a member holds."""
        if self.path.is_dir():
            return (self.path / member).read_bytes()
        with zipfile.ZipFile(self.path) as jar:
            return jar.read(member)


@frozen
class Build:
    """A build of Kafka."""

    like: str  # the release whose jars complete it, whose rules it is held against, and whose requests it is asked
    first: tuple[Part, ...] = ()  # what comes first on the class path; nothing for the release itself
    name: str = ""  # what it is called; empty for the release itself
    noted: Noted | None = None  # what its processes note of the changed classes that they run; None: they do not

    @classmethod
    def of(cls, text: str, like: str | None = None) -> Build:
        """The build that a user names.

        Args:
            text: a version; a folder of jars, or of a distribution; a checkout, built by Gradle; a folder of classes;
                one jar, or several with commas between them.
            like: the release that completes it; None for the version itself, or the nearest of that in its names.

        Raises:
            Refusal: for what is none of these, or has no class of Kafka; where jars of an unknown version cannot be
                fetched.
        """
        if like is not None and like not in known_versions():
            raise Refusal(f"Kafka {like}, to complete {text}, is not listed; {nearest(like, known_versions())}")
        if text in known_versions() and like in (None, text):
            return cls(text)
        if _VERSION.fullmatch(text):
            chosen = [Part.of(Path(path)) for path in any_jars(text, CONTROLLER).split(os.pathsep)]
        else:
            chosen = [Part.of(path) for path in _paths(text)]
        _check_once(chosen)
        if not (Path(text) / "settings.gradle").exists():
            _check_members(chosen, ordered=not Path(text).is_dir())
        if not any(member for part in chosen for member in part.own):
            raise Refusal(f"{text} has no class of Kafka")
        if Path(text).is_dir() and all(part.path.is_file() and _MANAGERS not in part.classes for part in chosen):
            raise Refusal(f"{text} has no kafka-metadata jar, whose classes decide; name its jars, with commas between "
                          "them, to drive the managers of a release with them")  # fmt: skip
        return cls(like or _nearest(_version(text, chosen)), tuple(chosen), text)

    @property
    def words(self) -> list[str]:
        """The words of a command that name it."""
        return [str(self), "--like", self.like] if self.first else [self.like]

    def __str__(self) -> str:
        """Its name, that of the release where it is one."""
        return self.name or self.like

    def class_path(self, kind: str = CONTROLLER) -> str:
        """Its class path: what comes first, then what it lacks of the release that completes it; raises as `jars`."""
        given = {part.artifact for part in self.first}
        rest = [path for path in jars(self.like, kind).split(os.pathsep) if _artifact(Path(path).name) not in given]
        return os.pathsep.join([*(str(part.path) for part in self.first), *rest])

    def digests(self, kind: str = CONTROLLER) -> list[tuple[str, str]]:
        """Name and SHA-256 of everything on its class path, in order."""
        given = {part.artifact for part in self.first}
        rest = [(name, digest) for name, digest in listed(self.like, kind).items() if _artifact(name) not in given]
        return [*((part.path.name, part.digest) for part in self.first), *sorted(rest)]

    def changed(self) -> Set[str]:
        """The names of its classes of Kafka's that differ from the release that completes it, or lack there."""
        paths, released = [Path(path) for path in jars(self.like).split(os.pathsep)], dict[str, int]()
        for path in paths:
            released |= Part(path, "", "").sums()
        modules = {_artifact(path.name) for path in paths}
        driven = [part.sums() for part in reversed(self.first) if part.artifact in modules
                  or not _MODULE.match(part.artifact) or not released.keys().isdisjoint(part.own)]  # fmt: skip
        own = dict(pair for sums in driven for pair in sums.items())  # the first copy counts
        given = {part.artifact for part in self.first}
        gone = {name for path in paths if _artifact(path.name) in given for name in Part(path, "", "").own} - own.keys()
        changed = {name for name, total in own.items() if released.get(name) != total}
        return {_name(member) for member in changed | gone}

    def deciding(self, names: Set[str]) -> Set[str]:
        """Those of some classes that are of no module but DECIDING."""
        paths = [Path(path) for path in jars(self.like).split(os.pathsep)]
        others = {_artifact(path.name) for path in paths} - {f"kafka-{module}" for module in DECIDING}
        parts = [part for part in (*(Part(path, _artifact(path.name), "") for path in paths), *self.first)
                 if part.artifact in others]  # fmt: skip
        return names - {_name(member) for part in parts for member in part.own}

    def unrun(self) -> tuple[UnrunMethod, ...]:
        """The changed methods that its processes have not run, as far as they noted it."""
        return () if self.noted is None else self.noted.unrun(self.class_path(), jars(self.like))

    def differing(self) -> list[str]:
        """The changed classes that do another thing than those of the release; none where nothing is noted."""
        return [] if self.noted is None else self.noted.differing(self.class_path(), jars(self.like))

    def java(self) -> int:
        """The oldest Java that can run what comes first, by the version of a class of each part."""
        heads = [part.bytes_of(part.classes[0])[:8] for part in self.first if part.classes]
        return max((int.from_bytes(head[6:8]) - _FIRST_JAVA for head in heads), default=OLDEST_JAVA)

    def _modules(self) -> Iterator[tuple[Path, Part]]:
        """The folders of the modules of a checkout that the controller consists of, with what is built of each."""
        for part in self.first:
            module = part.path.parents[3 if part.path.is_dir() else 2] if len(part.path.parents) > 3 else part.path
            if module.name in _MODULES and module.parent == Path(self.name).absolute():
                yield module, part

    @functools.cached_property
    def stale(self) -> str:
        """What to do about modules of a checkout whose sources have changed since they were built; else empty."""
        found = list[Path]()
        for module, part in self._modules():
            sources = (file.stat().st_mtime for file in (module / "src/main").rglob("*") if file.is_file())
            built = _newest(part.path) if part.path.is_dir() else part.path.stat().st_mtime
            found += [module] if max(sources, default=0.0) > built else []
        names = ", ".join(module.name for module in found)
        return f"sources of {names} are newer than what is built: run {_gradle(found)}" if found else ""

    def unbuilt(self) -> str:
        """What to do about the module of a checkout that lacks most classes of its release's; empty for none."""
        shares, parts = list[tuple[float, Path, str]](), [*self._modules()]
        released = {_artifact(one.name): one for one in map(Path, jars(self.like).split(os.pathsep))} if parts else {}
        for module, part in parts:
            own, all_ = {*part.own}, {*Part(released[part.artifact], "", "").own}
            has = f"{part.path} has {len(own & all_):,} of the {len(all_):,} classes of {module.name} {self.like}"
            shares.append((len(own & all_) / len(all_), module, has))
        share, module, has = min(shares, default=(1.0, Path(), ""))
        return f"{has}: run {_gradle([module])}" if share < _MOST else ""

    @property
    def foreign(self) -> list[str]:
        """The jars and folders that are no released ones, and that have classes which are not Kafka's."""
        return [part.path.name for part in self._unreleased if len([*part.own]) < len(part.classes)]

    @property
    def unasked(self) -> list[str]:
        """The jars of modules that no controller stands on, and that are no released ones."""
        modules = {_artifact(name) for name in listed(self.like, CONTROLLER)}
        of_kafka = (part for part in self._unreleased if _MODULE.match(part.artifact))
        return [part.path.name for part in of_kafka if part.artifact not in modules]

    @property
    def _unreleased(self) -> list[Part]:
        return [part for part in self.first if not part.is_released]

    def lines(self) -> list[str]:
        """What is driven, for a reader; nothing for a release, whose digests are known."""
        if not self.first:
            return []
        changed = self._unreleased
        text = [f"Kafka {self}, completed by {self.like}"]
        text += [f"  sha256 {part.digest} {part.path if part.path.is_dir() else part.path.name}" for part in changed]
        if len(changed) < len(self.first):
            alike = {release: sum(listed(release, CONTROLLER).get(part.path.name) == part.digest for part in self.first)
                     for release in known_versions()}  # fmt: skip
            of = max(alike, key=lambda release: (alike[release], release == self.like))
            text.append(f"  as released in {of}: {len(self.first) - len(changed)} of {len(self.first)} jars")
        text += [f"  not asked, for no controller stands on it: {name}" for name in self.unasked]
        text += [f"  warning: {self.stale}"] if self.stale else []
        if _VERSION.fullmatch(self.name):
            text.append(f"  warning: no digest of Kafka {self} is listed; what Maven fetched is trusted")
        if not any(_MANAGERS in part.classes for part in self.first):
            text.append(f"  what it does not have is of {self.like}")
        return text


def _name(member: str) -> str:
    return member.removesuffix(".class").replace("/", ".")


def _artifact(name: str) -> str:
    named = _JAR.fullmatch(name)
    return named["artifact"] if named else name


def _check_once(parts: Sequence[Part]) -> None:
    """Refuse two jars of one module, which of them would be driven is a matter of their order, and of two versions."""
    by_artifact, by_version = dict[str, Part](), dict[str, Part]()
    for part in parts:
        if hidden := [name for name in part.members if _OF_ONE_JAVA.match(name)]:
            raise Refusal(f"{part.path} has {hidden[0]}, which one Java alone loads; name a jar with one form of it")
        if os.pathsep in str(part.path):
            raise Refusal(f"{part.path}: a class path cannot name it, for {os.pathsep!r} separates its entries")
        other = by_artifact.setdefault(part.artifact or str(part.path), part)
        if other is not part:
            raise Refusal(f"{other.path} and {part.path} are both {part.artifact}; remove one")
        if part.artifact.startswith("kafka-") and (named := _NUMBERS.search(part.path.name)):
            by_version.setdefault(named[0], part)
    if len(by_version) > 1:
        one, two = (part.path for part in [*by_version.values()][:2])
        raise Refusal(f"{one} and {two} are of two versions; remove those of one")


def _check_members(parts: Sequence[Part], ordered: bool) -> None:
    """Refuse a class of Kafka's that two jars of a folder have; of jars in an order the first one's is driven."""
    by_member = dict[str, Part]()
    for part in parts:
        for member in part.own:
            other = by_member.setdefault(member, part)
            if other is part or (ordered and _MODULE.match(part.artifact)):
                continue
            if ordered:
                raise Refusal(f"{other.path} hides {_name(member)} of {part.path}; name the latter first")
            raise Refusal(f"{other.path} and {part.path} both have {_name(member)}; remove one, or name the jars, "
                          "the one that counts first, with commas between them")  # fmt: skip


def _paths(text: str) -> list[Path]:
    """The jars and folders of classes that a user's path stands for."""
    place = Path(text).absolute()
    if not place.exists():
        several = [Path(word).absolute() for word in text.split(",")]
        if len(several) > 1:
            missing = [str(path) for path in several if not path.exists()]
            if missing:
                raise Refusal(f"there is no {missing[0]}")
            return several
        raise Refusal(f"{text!r} is neither a version, such as {known_versions()[-1]}, nor a path of jars or classes")
    if place.is_file():
        return [place]
    if (place / "settings.gradle").exists():
        return _of_checkout(place)
    if (place / "org/apache/kafka").is_dir():
        return [place]
    folder = place / "libs" if (place / "libs").is_dir() else place
    found = [path for path in sorted(folder.glob("*.jar")) if not _NOT_DRIVEN.fullmatch(path.name)]
    if not found:
        raise Refusal(f"{text} has neither jars nor classes of Kafka (org/apache/kafka){_root_of(place)}")
    return found


def _root_of(place: Path) -> str:
    """The end of a refusal of what lies in a folder of classes, or is around one: that folder."""
    near = (*place.absolute().parents, *(place.absolute().glob("*") if place.is_dir() else ()))
    roots = (folder for folder in near if (folder / "org/apache/kafka").is_dir())
    return next((f"; did you mean {folder}, which holds org?" for folder in roots), "")


def _of_checkout(place: Path) -> list[Path]:
    """The jars of a checkout's modules, or classes that are newer; raises Refusal where it is not built."""
    found = list[Path]()
    for build in sorted({*place.glob("*/build"), *place.glob("*/*/build")}):
        name = f"kafka-{build.parent.name}"
        jar_files = [path for path in build.glob("libs/*.jar")
                     if _artifact(path.name) == name and not _NOT_DRIVEN.fullmatch(path.name)]  # fmt: skip
        classes = build.parent / _CLASSES
        is_newer = classes.is_dir() and _newest(classes) > max((path.stat().st_mtime for path in jar_files), default=0)
        if is_newer and (build.parent.name in _MODULES or jar_files):
            found.append(classes)
        else:
            found += jar_files
    if not any(place / _MODULES[0] in path.parents for path in found):
        raise Refusal(f"{place} is not built: run {_gradle([place / module for module in _MODULES])} there")
    return found


def _gradle(modules: Sequence[Path]) -> str:
    gradle = "./gradlew" if (modules[0].parent / "gradlew").exists() else "gradle"
    return f"{gradle} {' '.join(f':{module.name}:jar' for module in modules)}"


def _newest(folder: Path) -> float:
    return max((path.stat().st_mtime for path in folder.rglob("*.class")), default=0.0)


def _version(text: str, parts: Sequence[Part]) -> str:
    """The version that a user, a checkout or the names of jars say; that of the newest release where nothing does."""
    settings = Path(text) / "gradle.properties"
    if _VERSION.fullmatch(text):
        return text
    if settings.is_file():
        said = re.search(r"^version=(.*)$", settings.read_text("utf-8", "replace"), re.MULTILINE)
        if said is not None:
            return said[1]
    for part in parts:
        if _JAR.fullmatch(part.path.name) and part.artifact.startswith("kafka-"):
            return part.path.name.removeprefix(f"{part.artifact}-")
    return known_versions()[-1]


def _nearest(version: str) -> str:
    """The newest known release that is not newer than a version; the oldest where all are."""

    def numbers(text: str) -> list[int]:
        return [int(part) for part in re.findall(r"\d+", text)[:3]]

    older = [release for release in known_versions() if numbers(release) <= numbers(version)]
    return older[-1] if older else known_versions()[0]

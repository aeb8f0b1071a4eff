"""Read a submission (a folder, a zip or a single file) as data; nothing in it is ever run or imported.

A folder and a zip become the same list of entries first, so that each rule below stands once.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import stat
import unicodedata
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO

_IGNORED = re.compile(r"\..*|__MACOSX|__pycache__|node_modules|site-packages|venv")  # with all that is in it
_SHADOWING = {"conftest.py", "numpy.py", "sitecustomize.py", "torch.py", "usercustomize.py"}  # beside the package
_DROPPED = {".ipynb", ".pyc", ".pyo"}  # in the package: they belong elsewhere or are made again
_COMPILED = {".dll", ".dylib", ".pyd", ".so"}
_NAME = re.compile(r"[\w.-]+(/[\w.-]+)*")
_LEADS_OUT = re.compile(r"^/|^[A-Za-z]:|(^|/)\.\.(/|$)|[\\\0]")
_MAX_NAME_LENGTH = 100  # characters shown, bytes kept: fits on a line and in every file system
_MAX_WRAPPERS = 3  # folders around the package, as in a zip of a folder of a repository
_MAX_DEPTH = 20  # folders in folders: deeper than all that is kept, and mounts can nest without end
_MAX_NOTES = 20
_MAX_RATIO = 1032  # deflate packs no tighter: 258 bytes take at least 2 bits (zlib's technical details)
_Parts = tuple[str, ...]  # a path below what was handed in
_ADVICE = "Run `make submission` and hand in the zip that it writes."


class SubmissionError(Exception):
    """The submission cannot be read at all; the message is written to the student."""


@dataclass(frozen=True)
class Limits:
    """How much is looked at and kept, so that no upload can exhaust the grader."""

    max_files: int = 2000  # files kept
    max_file_bytes: int = 2 << 20  # bytes of one kept file, unpacked
    max_notebook_bytes: int = 10 << 20  # bytes of the notebook, whose outputs hold pictures
    max_total_bytes: int = 20 << 20  # bytes of all kept files, unpacked
    max_archive_bytes: int = 100 << 20  # bytes of the zip itself
    max_entries: int = 20_000  # names of files and folders looked at, kept or not


@dataclass(frozen=True)
class Submission:
    """What a student handed in, as far as it is used."""

    name: str  # of the folder or archive, made harmless for display
    files: dict[str, bytes]  # POSIX path -> content: "napkin/views.py", "napkin_math.ipynb"
    missing: tuple[str, ...]  # modules that were expected and are not there: "napkin/shapes.py"
    notes: tuple[str, ...]  # sentences to the student: what was repaired, then what was left out

    @property
    def sha256(self) -> str:
        """The digest of all paths and contents; each is led by its length, so no two submissions read alike."""
        digest = hashlib.sha256()
        for part in (part for path, content in sorted(self.files.items()) for part in (path.encode(), content)):
            digest.update(len(part).to_bytes(8, "big") + part)
        return digest.hexdigest()


def read_submission(
    path: Path,
    modules: Sequence[str],
    package: str = "napkin",
    notebook: str = "napkin_math.ipynb",
    limits: Limits = Limits(),
) -> Submission:
    """Return the package's files and the notebook found in `path`: a folder, a zip, one module or the notebook.

    Raises: SubmissionError if nothing is there to grade, or more than `limits` allow.
    """
    notes = _Notes()
    path = Path(os.path.abspath(path))
    name = _shown(path.name).strip("'")
    wanted = _Wanted(package, {f"{module}.py".lower(): f"{module}.py" for module in modules}, notebook)
    try:
        entries = list(_list_entries(path, name, limits, notes))
    except OSError as error:
        raise SubmissionError(f"{name} could not be read ({error.strerror}). {_ADVICE}") from error
    files = _read(_choose(_rooted(entries, path, wanted, notes), wanted, notes), notebook, limits, notes)
    if not files:
        seen = _listed(sorted({entry.parts[0] + "/" * (len(entry.parts) > 1) for entry in entries}))
        why = "".join(f"{note} " for note in notes.capped()[:3])
        raise SubmissionError(
            f"{name} holds no {package} package and no {notebook} that can be read. Seen: {seen or 'no files'}. {why}"
            f"Expected: a folder {package} with {_listed(list(wanted.modules.values()))}. {_ADVICE}"
        )
    expected = (f"{package}/{module}" for module in wanted.modules.values())
    return Submission(name, files, tuple(module for module in expected if module not in files), notes.capped())


def stage(submission: Submission, folder: Path) -> None:
    """Write the files below `folder`, which must be new or empty, readable for every user.

    Raises: SubmissionError if a path leads out of `folder`, or something stands there already.
    """
    for path in submission.files:
        if _LEADS_OUT.search(path):
            raise SubmissionError(f"found the path {path!r}, expected one below the folder: nothing was staged")
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):  # a link that stands there would lead the writing elsewhere
        raise SubmissionError(f"found files in {str(folder)!r}, expected an empty folder: stage into a new one")
    for path, content in submission.files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    for target in (folder, *folder.rglob("*")):
        target.chmod(0o755 if target.is_dir() else 0o644)  # whatever the umask


# --- what is there ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Entry:
    """One regular file of a folder or zip, not yet opened."""

    parts: _Parts  # ("hand-in", "napkin", "views.py")
    size: int  # bytes, unpacked, as the folder or zip claims; no more is ever read
    open: Callable[[], IO[bytes]]


def _list_entries(path: Path, name: str, limits: Limits, notes: _Notes) -> Iterator[_Entry]:
    path = Path(os.path.realpath(path))  # links inside are never followed, but the path itself comes from the grader
    if path.is_dir():
        yield from _list_folder(path, limits, notes)
        return
    if not path.is_file():
        raise SubmissionError(f"There is no folder or regular file {name}. Expected: a folder, zip, .py or .ipynb.")
    size, most = path.stat().st_size, limits.max_archive_bytes
    if not size:
        raise SubmissionError(f"{name} is empty (0 bytes): the upload may have been cut off. {_ADVICE}")
    if path.suffix.lower() in {".py", ".ipynb"}:
        yield _Entry((path.name,), size, partial(_open_regular, str(path)))
    elif size > most:
        raise SubmissionError(f"{name} has {size:,} bytes, more than {most:,}: leave out data and weights. {_ADVICE}")
    else:
        yield from _list_zip(path.read_bytes(), name, limits, notes)


def _list_folder(root: Path, limits: Limits, notes: _Notes) -> Iterator[_Entry]:
    looked_at = 0
    pending: list[tuple[str, _Parts]] = [(str(root), ())]
    while pending:
        folder, parts = pending.pop()
        try:
            with os.scandir(folder) as found:
                items = sorted(islice(found, limits.max_entries - looked_at + 1), key=lambda item: item.name)
            stats = [os.lstat(item) for item in items]
        except OSError as error:
            notes.leave_out("/".join(parts) or root.name, f"could not be read ({error.strerror})")
            continue
        looked_at += len(items)
        _refuse_crowd(looked_at, limits)
        if parts and any(item.name == "pyvenv.cfg" for item in items):
            continue  # a virtual environment, whatever its name
        for item, status in zip(items, stats, strict=True):
            below = (*parts, unicodedata.normalize("NFC", item.name))  # macOS may spell an umlaut in two characters
            if _IGNORED.fullmatch(item.name):
                continue
            if stat.S_ISREG(status.st_mode):
                yield _Entry(below, status.st_size, partial(_open_regular, item.path))
            elif not stat.S_ISDIR(status.st_mode):
                notes.leave_out("/".join(below), "is not a regular file (links are never followed)")
            elif len(below) <= _MAX_DEPTH:
                pending.append((item.path, below))


def _open_regular(path: str) -> IO[bytes]:
    # Should the file have become a link or a fifo since it was listed: do not follow the one, do not wait on the other.
    flags = ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY")  # no system has them all
    return os.fdopen(os.open(path, os.O_RDONLY | sum(getattr(os, flag, 0) for flag in flags)), "rb")


def _list_zip(content: bytes, name: str, limits: Limits, notes: _Notes) -> Iterator[_Entry]:
    # Each entry in a zip's directory begins with this signature, and ZipFile makes an object of each before it returns.
    _refuse_crowd(content.count(b"PK\1\2"), limits)
    size = len(content)
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
    except Exception as error:  # zipfile answers damage with BadZipFile, but with half a dozen other types too
        found = "is a damaged or incomplete zip" if content.startswith(b"PK") else "is not a zip"
        raise SubmissionError(f"{name} {found}. Expected: a zip that your computer can open. {_ADVICE}") from error
    unpacked = sum(member.file_size for member in archive.infolist())
    if unpacked > _MAX_RATIO * size:
        raise SubmissionError(f"{name} has {size:,} bytes and claims to hold {unpacked:,}: no zip can. {_ADVICE}")
    for member in archive.infolist():
        path = unicodedata.normalize("NFC", member.orig_filename)  # .filename is cut at a NUL
        parts = tuple(part for part in path.split("/") if part not in {"", "."})
        if _LEADS_OUT.search(path):
            notes.leave_out(path, "has a name that is absolute or holds '..', a backslash or a NUL,")
        elif not parts or path.endswith("/") or any(map(_IGNORED.fullmatch, parts)):
            continue
        elif stat.S_IFMT(member.external_attr >> 16) not in {0, stat.S_IFREG}:  # zero when packed on Windows
            notes.leave_out(path, "is not a regular file (links are never followed)")
        elif member.flag_bits & 1:
            notes.leave_out(path, "is locked with a password")
        elif member.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
            notes.leave_out(path, "is packed by a method other than deflate")  # zipfile bounds only deflate's output
        else:
            yield _Entry(parts, member.file_size, partial(archive.open, member))


def _refuse_crowd(count: int, limits: Limits) -> None:
    most = limits.max_entries
    if count > most:
        raise SubmissionError(f"There are over {most:,} files and folders: leave out data and environments. {_ADVICE}")


# --- what is taken ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Wanted:
    package: str
    modules: dict[str, str]  # a file's name in lower case -> as it should be
    notebook: str


def _rooted(entries: list[_Entry], path: Path, wanted: _Wanted, notes: _Notes) -> list[_Entry]:
    """Return the entries with the package's folder in their paths even if `path` is that folder itself."""
    flat = any(len(entry.parts) == 1 and entry.parts[0].lower() in wanted.modules for entry in entries)
    if not (flat and path.is_dir() and path.name.lower() == wanted.package.lower()):
        return entries
    notes.repairs.append(f"This is the folder {wanted.package} itself: a notebook beside it was not looked for.")
    return [replace(entry, parts=(path.name, *entry.parts)) for entry in entries]


def _find_package(entries: list[_Entry], wanted: _Wanted, notes: _Notes) -> _Parts | None:
    """Return the folder with the package's files; one of another name holds loose modules."""
    package = wanted.package
    modules = Counter(entry.parts[:-1] for entry in entries if entry.parts[-1].lower() in wanted.modules)
    folders = {entry.parts[:n] for entry in entries for n in range(1, min(len(entry.parts), _MAX_WRAPPERS + 2))}
    named = {folder for folder in folders if folder[-1].lower() == package.lower()}
    loose = {folder for folder in modules if len(folder) <= _MAX_WRAPPERS}
    candidates = {folder for folder in named if modules[folder]} or loose or named
    if not candidates:
        return None
    base, *others = sorted(candidates, key=lambda at: (len(at), -modules[at], at[-1:] != (package,), at))
    where = _shown("/".join(base)) if base else "the top level"
    if others:
        rest = _listed(["/".join(folder) for folder in others])
        notes.repairs.append(f"{where} was read as the {package} package; it might also have been {rest}.")
    if base not in named:
        notes.repairs.append(f"The .py files in {where} were read as {package}/: hand in the folder {package}.")
    elif base[-1] != package:
        notes.repairs.append(f"{where} was read as {package}: rename it, imports tell upper from lower case.")
    return base


def _choose(entries: list[_Entry], wanted: _Wanted, notes: _Notes) -> Iterator[tuple[str, _Entry]]:
    """Yield each file to keep with its path in the submission; the best claim to a path comes first."""
    base = _find_package(entries, wanted, notes)
    loose = base is not None and "".join(base[-1:]).lower() != wanted.package.lower()
    beside = () if base is None else base if loose else base[:-1]
    for entry in sorted(entries, key=lambda entry: entry.parts[-1] not in wanted.modules.values()):
        folder, name = entry.parts[:-1], entry.parts[-1]
        suffix = os.path.splitext(name)[1].lower()
        if name.lower() in _SHADOWING and folder in {(), beside}:
            notes.leave_out("/".join(entry.parts), f"is not part of the {wanted.package} package")
        elif base is None or folder[: len(base)] != base or (loose and (folder != base or suffix != ".py")):
            continue
        elif suffix in _COMPILED:
            notes.leave_out("/".join(entry.parts), "is compiled code")
        elif suffix not in _DROPPED:
            below = entry.parts[len(base) :] if folder != base else (wanted.modules.get(name.lower(), name),)
            yield "/".join((wanted.package, *below)), entry
    lone = len(entries) == 1 and entries[0].parts[-1].lower().endswith(".ipynb")
    notebooks = [entry for entry in entries if lone or entry.parts[-1].lower() == wanted.notebook.lower()]
    notebooks.sort(key=lambda at: (at.parts[:-1] != beside, len(at.parts), at.parts[-1] != wanted.notebook))
    yield from ((wanted.notebook, entry) for entry in notebooks)


def _read(chosen: Iterable[tuple[str, _Entry]], notebook: str, limits: Limits, notes: _Notes) -> dict[str, bytes]:
    """Return the contents by path; a file is opened only after all limits were checked on the size it claims."""
    files: dict[str, bytes] = {}
    taken: set[str] = set()  # files, and folders with a slash; in lower case, as some file systems do not tell it
    total = 0
    for path, entry in chosen:
        origin, key = "/".join(entry.parts), path.lower()
        most = limits.max_notebook_bytes if path == notebook else limits.max_file_bytes
        if not _NAME.fullmatch(path) or len(path.encode()) > _MAX_NAME_LENGTH:
            notes.leave_out(origin, "has a name that is too long or has more than letters, digits, '_', '-' and '.',")
            continue
        parents = {key[:at] for at, character in enumerate(key) if character == "/"}
        if taken & {key, f"{key}/", *parents}:
            notes.leave_out(origin, "is there a second time (upper and lower case count as the same)")
            continue
        if entry.size > most:
            notes.leave_out(origin, f"has {entry.size:,} bytes, more than {most:,},")
            continue
        total += entry.size
        if len(files) == limits.max_files or total > limits.max_total_bytes:
            enough = f"{limits.max_files:,} files or {limits.max_total_bytes:,} bytes"
            raise SubmissionError(f"The package has more than {enough}: leave out what is not your code. {_ADVICE}")
        try:
            with entry.open() as stream:
                files[path] = stream.read(entry.size)
        except Exception as error:  # noqa: BLE001  as many types as in _list_zip
            reason = (isinstance(error, OSError) and error.strerror) or "it is damaged"
            notes.leave_out(origin, f"could not be read ({reason})")
            continue
        taken |= {key, *(f"{parent}/" for parent in parents)}
        if entry.parts[-1] != path.rpartition("/")[2]:
            notes.repairs.append(f"{_shown(origin)} was read as {path}: rename it.")
    return files


# --- what the student is told ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Notes:
    repairs: list[str] = field(default_factory=list)  # told first: they say how all the rest was read
    left_out: list[str] = field(default_factory=list)

    def leave_out(self, path: str, reason: str) -> None:
        self.left_out.append(f"{_shown(path)} {reason} and was left out.")

    def capped(self) -> tuple[str, ...]:
        told = (*self.repairs, *self.left_out)
        return told[:_MAX_NOTES] + ((f"… and {len(told) - _MAX_NOTES} more.",) if len(told) > _MAX_NOTES else ())


def _shown(path: str) -> str:
    """Return `path` as it is if that is harmless, else quoted, with invisible characters escaped, and cut."""
    if _NAME.fullmatch(path) and path.isascii() and len(path) <= _MAX_NAME_LENGTH:
        return path
    text = repr(path[: _MAX_NAME_LENGTH + 1])[1:-1]
    return f"'{text}'" if len(text) <= _MAX_NAME_LENGTH else f"'{text[: _MAX_NAME_LENGTH - 1]}…'"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(_shown, names[:10])) + (f" and {len(names) - 10} more" if len(names) > 10 else "")

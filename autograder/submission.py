"""Read a submission (a folder, a zip or a single file) as data; nothing in it is ever run or imported.

A folder and a zip become the same list of entries first, so that each rule below stands once.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from autograder.listing import (
    ADVICE,
    LEADS_OUT,
    MAX_NAME_LENGTH,
    NAME,
    Entry,
    Limits,
    Notes,
    Parts,
    SubmissionError,
    list_entries,
    listed,
    shown,
)
from autograder.notebook import read_answers

__all__ = ["Limits", "Submission", "SubmissionError", "read_submission", "stage"]

_SHADOWING = {"conftest.py", "numpy.py", "sitecustomize.py", "torch.py", "usercustomize.py"}  # beside the package
_DROPPED = {".ipynb", ".pyc", ".pyo"}  # in the package: they belong elsewhere or are made again
_COMPILED = {".dll", ".dylib", ".pyd", ".so"}
_MAX_WRAPPERS = 3  # folders around the package, as in a zip of a folder of a repository


@dataclass(frozen=True)
class Submission:
    """What a student handed in, as far as it is used."""

    name: str  # of the folder or archive, made harmless for display
    files: dict[str, bytes]  # POSIX path -> content: "napkin/views.py", "napkin_math.ipynb", and the answers in it
    # as a module, "napkin_math.py"
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
    limits: Limits | None = None,
) -> Submission:
    """Return the package's files and the notebook found in `path`: a folder, a zip, one module or the notebook.

    Args:
        modules: the package's; one with the notebook's name stands for the notebook, whose answers are read and
            become a module beside the package.

    Raises: SubmissionError if nothing is there to grade, or more than `limits` allow.
    """
    limits = limits or Limits()
    notes = Notes()
    answers = notebook.removesuffix(".ipynb")
    asks_notebook, modules = answers in modules, [module for module in modules if module != answers]
    path = Path(os.path.abspath(path))
    name = shown(path.name).strip("'")
    wanted = _Wanted(package, {f"{module}.py".lower(): f"{module}.py" for module in modules}, notebook)
    try:
        entries = list(list_entries(path, name, limits, notes))
    except OSError as error:
        raise SubmissionError(f"{name} could not be read ({error.strerror}). {ADVICE}") from error
    files = _read(_choose(_rooted(entries, path, wanted, notes), wanted, notes), notebook, limits, notes)
    if not files:
        seen = listed(sorted({entry.parts[0] + "/" * (len(entry.parts) > 1) for entry in entries}))
        why = "".join(f"{note} " for note in notes.capped()[:3])
        raise SubmissionError(
            f"{name} holds no {package} package and no {notebook} that can be read. Seen: {seen or 'no files'}. {why}"
            f"Expected: a folder {package} with {listed(list(wanted.modules.values()))}. {ADVICE}"
        )
    expected = [f"{package}/{module}" for module in wanted.modules.values()]
    if asks_notebook:
        expected.append(notebook)
        read = read_answers(files.get(notebook), notebook)
        files[f"{answers}.py"] = read.module()
        notes.repairs.extend(read.notes)
    return Submission(name, files, tuple(module for module in expected if module not in files), notes.capped())


def stage(submission: Submission, folder: Path) -> None:
    """Write the files below `folder`, which must be new or empty, readable for every user.

    Raises: SubmissionError if a path leads out of `folder`, or something stands there already.
    """
    for path in submission.files:
        if LEADS_OUT.search(path):
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


@dataclass(frozen=True)
class _Wanted:
    package: str
    modules: dict[str, str]  # a file's name in lower case -> as it should be
    notebook: str


def _rooted(entries: list[Entry], path: Path, wanted: _Wanted, notes: Notes) -> list[Entry]:
    """Return the entries with the package's folder in their paths even if `path` is that folder itself."""
    flat = any(len(entry.parts) == 1 and entry.parts[0].lower() in wanted.modules for entry in entries)
    if not (flat and path.is_dir() and path.name.lower() == wanted.package.lower()):
        return entries
    notes.repairs.append(f"This is the folder {wanted.package} itself: a notebook beside it was not looked for.")
    return [replace(entry, parts=(path.name, *entry.parts)) for entry in entries]


def _find_package(entries: list[Entry], wanted: _Wanted, notes: Notes) -> Parts | None:
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
    where = shown("/".join(base)) if base else "the top level"
    if others:
        rest = listed(["/".join(folder) for folder in others])
        notes.repairs.append(f"{where} was read as the {package} package; it might also have been {rest}.")
    if base not in named:
        notes.repairs.append(f"The .py files in {where} were read as {package}/: hand in the folder {package}.")
    elif base[-1] != package:
        notes.repairs.append(f"{where} was read as {package}: rename it, imports tell upper from lower case.")
    return base


def _choose(entries: list[Entry], wanted: _Wanted, notes: Notes) -> Iterator[tuple[str, Entry]]:
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


def _read(chosen: Iterable[tuple[str, Entry]], notebook: str, limits: Limits, notes: Notes) -> dict[str, bytes]:
    """Return the contents by path; a file is opened only after all limits were checked on the size it claims."""
    files: dict[str, bytes] = {}
    taken: set[str] = set()  # files, and folders with a slash; in lower case, as some file systems do not tell it
    total = 0
    for path, entry in chosen:
        origin, key = "/".join(entry.parts), path.lower()
        most = limits.max_notebook_bytes if path == notebook else limits.max_file_bytes
        if not NAME.fullmatch(path) or len(path.encode()) > MAX_NAME_LENGTH:
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
            raise SubmissionError(f"The package has more than {enough}: leave out what is not your code. {ADVICE}")
        try:
            with entry.open() as stream:
                files[path] = stream.read(entry.size)
        except Exception as error:  # noqa: BLE001  as many types as in _list_zip
            reason = (isinstance(error, OSError) and error.strerror) or "it is damaged"
            notes.leave_out(origin, f"could not be read ({reason})")
            continue
        taken |= {key, *(f"{parent}/" for parent in parents)}
        if entry.parts[-1] != path.rpartition("/")[2]:
            notes.repairs.append(f"{shown(origin)} was read as {path}: rename it.")
    return files

"""Lists what was handed in: the regular files of a folder or a zip, as one kind of entry, and none of them opened yet.

What is left out, and why, is noted for the student. Links are never followed and a zip's claims never trusted.
"""

from __future__ import annotations

import io
import os
import re
import stat
import unicodedata
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO

_IGNORED = re.compile(r"\..*|__MACOSX|__pycache__|node_modules|site-packages|venv")  # with all that is in it
NAME = re.compile(r"[\w.-]+(/[\w.-]+)*")
LEADS_OUT = re.compile(r"^/|^[A-Za-z]:|(^|/)\.\.(/|$)|[\\\0]")
MAX_NAME_LENGTH = 100  # characters shown, bytes kept: fits on a line and in every file system
_MAX_DEPTH = 20  # folders in folders: deeper than all that is kept, and mounts can nest without end
_MAX_NOTES = 20
_MAX_RATIO = 1032  # deflate packs no tighter: 258 bytes take at least 2 bits (zlib's technical details)
Parts = tuple[str, ...]  # a path below what was handed in
ADVICE = "Run `make submission` and hand in the zip that it writes."


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
class Notes:
    """What the student is told about the reading, as it comes up."""

    repairs: list[str] = field(default_factory=list)  # told first: they say how all the rest was read
    left_out: list[str] = field(default_factory=list)

    def leave_out(self, path: str, reason: str) -> None:
        """Note that something was left out, and why."""
        self.left_out.append(f"{shown(path)} {reason} and was left out.")

    def capped(self) -> tuple[str, ...]:
        """Return all notes, or the first and how many more there are."""
        told = (*self.repairs, *self.left_out)
        return told[:_MAX_NOTES] + ((f"… and {len(told) - _MAX_NOTES} more.",) if len(told) > _MAX_NOTES else ())


def shown(path: str) -> str:
    """Return `path` as it is if that is harmless, else quoted, with invisible characters escaped, and cut."""
    if NAME.fullmatch(path) and path.isascii() and len(path) <= MAX_NAME_LENGTH:
        return path
    text = repr(path[: MAX_NAME_LENGTH + 1])[1:-1]
    return f"'{text}'" if len(text) <= MAX_NAME_LENGTH else f"'{text[: MAX_NAME_LENGTH - 1]}…'"


def listed(names: Sequence[str]) -> str:
    """Return some names in one line, or the first ten and how many more there are."""
    return ", ".join(map(shown, names[:10])) + (f" and {len(names) - 10} more" if len(names) > 10 else "")


@dataclass(frozen=True)
class Entry:
    """One regular file of a folder or zip, not yet opened."""

    parts: Parts  # ("hand-in", "napkin", "views.py")
    size: int  # bytes, unpacked, as the folder or zip claims; no more is ever read
    open: Callable[[], IO[bytes]]


def list_entries(path: Path, name: str, limits: Limits, notes: Notes) -> Iterator[Entry]:
    """Yield the regular files of what was handed in: a folder, a zip or one file.

    Raises: SubmissionError, to the student, if it is none of these, damaged or too large.
    """
    path = Path(os.path.realpath(path))  # links inside are never followed, but the path itself comes from the grader
    if path.is_dir():
        yield from _list_folder(path, limits, notes)
        return
    if not path.is_file():
        raise SubmissionError(f"There is no folder or regular file {name}. Expected: a folder, zip, .py or .ipynb.")
    size, most = path.stat().st_size, limits.max_archive_bytes
    if not size:
        raise SubmissionError(f"{name} is empty (0 bytes): the upload may have been cut off. {ADVICE}")
    if path.suffix.lower() in {".py", ".ipynb"}:
        yield Entry((path.name,), size, partial(_open_regular, str(path)))
    elif size > most:
        raise SubmissionError(f"{name} has {size:,} bytes, more than {most:,}: leave out data and weights. {ADVICE}")
    else:
        yield from _list_zip(path.read_bytes(), name, limits, notes)


def _list_folder(root: Path, limits: Limits, notes: Notes) -> Iterator[Entry]:
    looked_at = 0
    pending: list[tuple[str, Parts]] = [(str(root), ())]
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
                yield Entry(below, status.st_size, partial(_open_regular, item.path))
            elif not stat.S_ISDIR(status.st_mode):
                notes.leave_out("/".join(below), "is not a regular file (links are never followed)")
            elif len(below) <= _MAX_DEPTH:
                pending.append((item.path, below))


def _open_regular(path: str) -> IO[bytes]:
    # Should the file have become a link or a fifo since it was listed: do not follow the one, do not wait on the other.
    flags = ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY")  # no system has them all
    return os.fdopen(os.open(path, os.O_RDONLY | sum(getattr(os, flag, 0) for flag in flags)), "rb")


def _list_zip(content: bytes, name: str, limits: Limits, notes: Notes) -> Iterator[Entry]:
    # Each entry in a zip's directory begins with this signature, and ZipFile makes an object of each before it returns.
    _refuse_crowd(content.count(b"PK\1\2"), limits)
    size = len(content)
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
    except Exception as error:  # zipfile answers damage with BadZipFile, but with half a dozen other types too
        found = "is a damaged or incomplete zip" if content.startswith(b"PK") else "is not a zip"
        raise SubmissionError(f"{name} {found}. Expected: a zip that your computer can open. {ADVICE}") from error
    unpacked = sum(member.file_size for member in archive.infolist())
    if unpacked > _MAX_RATIO * size:
        raise SubmissionError(f"{name} has {size:,} bytes and claims to hold {unpacked:,}: no zip can. {ADVICE}")
    for member in archive.infolist():
        path = unicodedata.normalize("NFC", member.orig_filename)  # .filename is cut at a NUL
        parts = tuple(part for part in path.split("/") if part not in {"", "."})
        if LEADS_OUT.search(path):
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
            yield Entry(parts, member.file_size, partial(archive.open, member))


def _refuse_crowd(count: int, limits: Limits) -> None:
    most = limits.max_entries
    if count > most:
        raise SubmissionError(f"There are over {most:,} files and folders: leave out data and environments. {ADVICE}")

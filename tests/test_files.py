"""Whether a file is the old one or the new one at any moment, and never a part."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from autograder.files import write_aside

SIZE = 300_000  # bytes; what is written in several steps
WRITER = f"""
import sys
from pathlib import Path
from autograder.files import write_aside
while True:
    for letter in "abc":
        write_aside(Path(sys.argv[1]), letter * {SIZE})
"""


@pytest.mark.parametrize(("content", "stored"), [("é\n", b"\xc3\xa9\n"), (b"\xff\0", b"\xff\0"), ("", b"")])
def test_a_file_holds_what_was_written(tmp_path: Path, content: str | bytes, stored: bytes) -> None:
    write_aside(tmp_path / "result.json", content)
    assert (tmp_path / "result.json").read_bytes() == stored


def test_a_file_takes_the_place_of_the_old_one_and_leaves_nothing_beside(tmp_path: Path) -> None:
    write_aside(tmp_path / "result.json", "a long old one")
    write_aside(tmp_path / "result.json", "new")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("result.json", "new")]


def test_a_link_is_replaced_and_not_what_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("other")
    (tmp_path / "result.json").symlink_to(tmp_path / "other")
    write_aside(tmp_path / "result.json", "new")
    assert (tmp_path / "other").read_text() == "other"
    assert (tmp_path / "result.json").read_text() == "new"


def test_a_failure_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_aside(tmp_path / "result.json", "old")

    def fails(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", fails)
    with pytest.raises(OSError, match="no space left"):
        write_aside(tmp_path / "result.json", "new")
    assert (tmp_path / "result.json").read_text() == "old"


def test_a_text_that_cannot_be_written_leaves_the_old_file(tmp_path: Path) -> None:
    write_aside(tmp_path / "result.json", "old")
    with pytest.raises(UnicodeEncodeError):
        write_aside(tmp_path / "result.json", "\ud800")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("result.json", "old")]


@pytest.mark.parametrize("after_s", [0.0, 0.013])
def test_whoever_reads_meets_a_whole_file_also_after_a_kill(tmp_path: Path, after_s: float) -> None:
    path = tmp_path / "result.json"
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)])
    try:
        until = time.monotonic() + 20
        while not path.exists() and time.monotonic() < until:
            time.sleep(0.001)
        seen = []
        until = time.monotonic() + 0.1 + after_s
        while time.monotonic() < until:
            seen.append(path.read_bytes())
            time.sleep(0.001)
    finally:
        os.kill(writer.pid, signal.SIGKILL)
        writer.wait()
    seen.append(path.read_bytes())
    assert {(len(content), content.count(content[:1])) for content in seen} == {(SIZE, SIZE)}

"""What is read from a submission, what is left out, and what the student is told about it."""

from __future__ import annotations

import io
import os
import socket
import stat
import struct
import sys
import tracemalloc
import unicodedata
import warnings
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder import listing
from autograder.submission import Limits, Submission, SubmissionError, read_submission, stage

MODULES = ("views", "shapes")
BOTH = {"napkin/views.py": b"import torch\n", "napkin/shapes.py": b"pass\n"}
LINK, DEVICE = stat.S_IFLNK | 0o777, stat.S_IFCHR | 0o666

Files = dict[str, bytes]
Place = Callable[[Path, Files], Path]
posix = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs links and fifos")


def as_folder(at: Path, files: Files) -> Path:
    for path, content in files.items():
        (at / "hand-in" / path).parent.mkdir(parents=True, exist_ok=True)
        (at / "hand-in" / path).write_bytes(content)
    return at / "hand-in"


def packed(files: Files | Iterable[tuple[str | zipfile.ZipInfo, bytes]], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", method) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about names that are there twice
        for name, text in files.items() if isinstance(files, dict) else files:
            archive.writestr(name, text, method)
    return content.getvalue()


def written(at: Path, content: bytes, name: str = "hand-in.zip") -> Path:
    (at / name).write_bytes(content)
    return at / name


def as_zip(at: Path, files: Files) -> Path:
    return written(at, packed(files))


def with_directory(content: bytes, offset: int, field: bytes) -> bytes:
    """Return a zip of one member with a field of its entry in the directory replaced."""
    start = content.index(b"PK\1\2") + offset
    return content[:start] + field + content[start + len(field) :]


def overlapping(count: int, content: bytes) -> bytes:
    """Return a zip whose directory lists the same packed member `count` times."""
    once = packed({"napkin/views.py": content})
    start, end = once.index(b"PK\1\2"), once.rindex(b"PK\5\6")
    directory = once[start:end] * count
    return once[:start] + directory + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1, 1, len(directory), start, 0)


def only_note(read: Submission) -> str:
    (note,) = read.notes
    return note


both_ways = pytest.mark.parametrize("place", [as_folder, as_zip])


# --- what is taken ---------------------------------------------------------------------------------------------------


@both_ways
def test_the_package_and_the_notebook_are_kept_and_the_rest_is_left_out_in_silence(place: Place, tmp_path: Path):
    kept = {**BOTH, "napkin/own/__init__.py": b"", "napkin/conftest.py": b"", "napkin/table.csv": b"1,2\n"}
    kept["napkin_math.ipynb"] = b"{}"
    other = ["Makefile", "test_all.py", "recorded.bin", ".venv/lib/torch.py", ".git/config", "napkin/.DS_Store"]
    other += [
        "napkin/__pycache__/views.cpython-311.pyc",
        "napkin/old.pyc",
        "__MACOSX/napkin/views.py",
        "venv/napkin/views.py",
    ]
    read = read_submission(place(tmp_path, {**kept, **dict.fromkeys(other, b"!")}), MODULES)
    assert (read.files, read.missing, read.notes) == (kept, (), ())


@both_ways
@pytest.mark.parametrize(
    "content",
    [b"\xef\xbb\xbfx = 1\r\n", b"\r", b"\xff\xfe\0", "größe = 1".encode("latin-1"), b""],
    ids=["BOM and CRLF", "CR", "UTF-16", "Latin-1", "empty"],
)
def test_content_is_kept_byte_for_byte(place: Place, content: bytes, tmp_path: Path):
    assert read_submission(place(tmp_path, {"napkin/views.py": content}), MODULES).files["napkin/views.py"] == content


@both_ways
def test_missing_modules_are_named(place: Place, tmp_path: Path):
    assert read_submission(place(tmp_path, {"napkin/views.py": b""}), MODULES).missing == ("napkin/shapes.py",)


@both_ways
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_letters_beyond_ascii_may_stand_in_names_however_they_are_encoded(place: Place, form: str, tmp_path: Path):
    name = "napkin/größe_形.py"
    written_as = unicodedata.normalize(form, name)
    assert set(read_submission(place(tmp_path, {**BOTH, written_as: b""}), MODULES).files) == {*BOTH, name}


@both_ways
@pytest.mark.parametrize("wrapper", ["hw", "a/b/c", "Übung 3 (final)", "napkin"])
def test_a_package_is_found_below_up_to_three_folders(place: Place, wrapper: str, tmp_path: Path):
    files = {f"{wrapper}/{path}": content for path, content in {**BOTH, "napkin_math.ipynb": b"{}"}.items()}
    read = read_submission(place(tmp_path, files), MODULES)
    assert (set(read.files), read.notes) == ({*BOTH, "napkin_math.ipynb"}, ())


def test_a_package_below_four_folders_is_not_found(tmp_path: Path):
    with pytest.raises(SubmissionError, match="holds no napkin package"):
        read_submission(as_zip(tmp_path, {f"a/b/c/d/{path}": content for path, content in BOTH.items()}), MODULES)


@both_ways
@pytest.mark.parametrize(
    ("files", "chosen"),
    [
        ({"a/napkin/views.py": b"", "b/c/napkin/views.py": b"", "b/c/napkin/shapes.py": b""}, "a/napkin"),
        ({"a/napkin/views.py": b"", "b/napkin/views.py": b"", "b/napkin/shapes.py": b""}, "b/napkin"),
        ({"a/Napkin/views.py": b"", "b/napkin/views.py": b""}, "b/napkin"),
    ],
    ids=["shallowest", "most modules", "right spelling"],
)
def test_one_of_several_packages_is_chosen_and_the_student_told(
    place: Place, files: Files, chosen: str, tmp_path: Path
):
    read = read_submission(place(tmp_path, files), MODULES)
    assert f"{chosen} was read as the napkin package; it might also have been" in only_note(read)
    assert len(read.files) == sum(path.startswith(chosen) for path in files)


@both_ways
@pytest.mark.parametrize("wrapper", ["", "hw/"])
def test_modules_without_their_folder_are_taken_with_their_own_helpers(place: Place, wrapper: str, tmp_path: Path):
    names = ("views.py", "helper.py", "napkin_math.ipynb", "README.md", "data/big.csv", "torch.py")
    read = read_submission(place(tmp_path, {wrapper + name: b"" for name in names}), MODULES)
    assert set(read.files) == {"napkin/views.py", "napkin/helper.py", "napkin_math.ipynb"}
    where = wrapper.rstrip("/") or "the top level"
    assert read.notes == (
        f"The .py files in {where} were read as napkin/: hand in the folder napkin.",
        f"{wrapper}torch.py is not part of the napkin package and was left out.",
    )


@pytest.mark.parametrize("name", ["napkin", "Napkin"])
def test_the_package_itself_may_be_handed_in(name: str, tmp_path: Path):
    folder = as_folder(tmp_path, {f"{name}/views.py": b"", f"{name}/own/x.py": b"", f"{name}/torch.py": b""}) / name
    read = read_submission(folder, MODULES)
    assert set(read.files) == {"napkin/views.py", "napkin/own/x.py", "napkin/torch.py"}
    assert "This is the folder napkin itself" in read.notes[0]


def test_a_single_module_is_a_submission(tmp_path: Path):
    read = read_submission(written(tmp_path, b"x = 1\n", "views.py"), MODULES)
    assert (read.files, read.missing) == ({"napkin/views.py": b"x = 1\n"}, ("napkin/shapes.py",))


@pytest.mark.parametrize(("name", "notes"), [("napkin_math.ipynb", 0), ("hw 1.ipynb", 1)])
def test_a_single_notebook_is_a_submission(name: str, notes: int, tmp_path: Path):
    read = read_submission(written(tmp_path, b"{}", name), MODULES)
    assert (read.files, len(read.missing)) == ({"napkin_math.ipynb": b"{}"}, 2)
    assert list(read.notes) == [f"'{name}' was read as napkin_math.ipynb: rename it."] * notes


@both_ways
@pytest.mark.parametrize(
    ("path", "notes"),
    [
        ("Napkin/views.py", ["Napkin was read as napkin: rename it, imports tell upper from lower case."]),
        ("napkin/Views.PY", ["napkin/Views.PY was read as napkin/views.py: rename it."]),
        ("NAPKIN_math.ipynb", ["NAPKIN_math.ipynb was read as napkin_math.ipynb: rename it."]),
    ],
)
def test_wrong_case_is_repaired_and_named(place: Place, path: str, notes: list[str], tmp_path: Path):
    read = read_submission(place(tmp_path, {path: b""}), MODULES)
    assert (set(read.files), list(read.notes)) == ({path.lower()}, notes)


@both_ways
def test_the_right_case_goes_before_the_wrong_one(place: Place, tmp_path: Path):
    read = read_submission(place(tmp_path, {**BOTH, "napkin/Views.py": b"other"}), MODULES)
    assert read.files == BOTH
    assert "napkin/Views.py is there a second time" in only_note(read)


def test_the_notebook_beside_the_package_goes_before_another(tmp_path: Path):
    files = {"hw/napkin/views.py": b"", "napkin_math.ipynb": b"far", "hw/napkin_math.ipynb": b"near"}
    assert read_submission(as_zip(tmp_path, files), MODULES).files["napkin_math.ipynb"] == b"near"


def test_a_submission_is_never_run(tmp_path: Path):
    before = set(sys.modules), list(sys.path)
    read_submission(
        as_folder(tmp_path, {**BOTH, "napkin/views.py": b"raise SystemExit", "conftest.py": b"1/0"}), MODULES
    )
    assert (set(sys.modules), list(sys.path)) == before


# --- what is left out, and the student told --------------------------------------------------------------------------


@both_ways
@pytest.mark.parametrize("name", ["torch.py", "numpy.py", "conftest.py", "sitecustomize.py"])
def test_a_file_that_shadows_a_library_is_named(place: Place, name: str, tmp_path: Path):
    read = read_submission(place(tmp_path, {**BOTH, name: b""}), MODULES)
    assert (read.files, only_note(read)) == (BOTH, f"{name} is not part of the napkin package and was left out.")


@both_ways
@pytest.mark.parametrize("name", ["fast.so", "fast.cpython-311-x86_64-linux-gnu.so", "fast.PYD", "fast.dylib"])
def test_compiled_code_is_left_out(place: Place, name: str, tmp_path: Path):
    read = read_submission(place(tmp_path, {**BOTH, f"napkin/{name}": b"\x7fELF"}), MODULES)
    assert (read.files, only_note(read)) == (BOTH, f"napkin/{name} is compiled code and was left out.")


@both_ways
@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("my shapes.py", "'napkin/my shapes.py'"),
        ("a\x1b[2J\nb.py", r"'napkin/a\x1b[2J\nb.py'"),
        ("\u202eyp.x", r"'napkin/\u202eyp.x'"),
        ("x" * 101, "'napkin/" + "x" * 92 + "…'"),
        ("形" * 40, "'napkin/" + "形" * 40 + "'"),
    ],
    ids=["space", "control", "bidi", "long", "long in bytes"],
)
def test_an_odd_name_is_left_out_and_shown_harmless(place: Place, name: str, shown: str, tmp_path: Path):
    read = read_submission(place(tmp_path, {**BOTH, f"napkin/{name}": b""}), MODULES)
    assert read.files == BOTH
    assert only_note(read).startswith(f"{shown} has a name that is too long or has more than letters")


@both_ways
def test_a_file_too_large_is_left_out_and_so_missing(place: Place, tmp_path: Path):
    read = read_submission(place(tmp_path, {**BOTH, "napkin/views.py": bytes((2 << 20) + 1)}), MODULES)
    assert read.missing == ("napkin/views.py",)
    assert only_note(read) == "napkin/views.py has 2,097,153 bytes, more than 2,097,152, and was left out."


@both_ways
def test_a_notebook_may_be_larger_than_a_module(place: Place, tmp_path: Path):
    notebook = os.urandom(1024) * (3 << 10)
    assert (
        read_submission(place(tmp_path, {"napkin_math.ipynb": notebook}), MODULES).files["napkin_math.ipynb"]
        == notebook
    )


@both_ways
def test_the_notes_are_few(place: Place, tmp_path: Path):
    read = read_submission(place(tmp_path, {**BOTH, **{f"napkin/{n} .py": b"" for n in range(25)}}), MODULES)
    assert (len(read.notes), read.notes[-1]) == (21, "… and 5 more.")


@posix
@pytest.mark.parametrize("target", ["/etc/passwd", "/etc", "..", "views.py", "link.py", "nowhere"])
def test_a_link_is_never_followed(target: str, tmp_path: Path):
    folder = as_folder(tmp_path, BOTH)
    (folder / "napkin/link.py").symlink_to(target)
    read = read_submission(folder, MODULES)
    assert read.files == BOTH
    assert only_note(read) == "napkin/link.py is not a regular file (links are never followed) and was left out."


@posix
def test_a_package_that_is_a_link_is_not_followed(tmp_path: Path):
    folder = as_folder(tmp_path, {"src/deep/a/b/views.py": b""})
    (folder / "napkin").symlink_to(folder / "src/deep/a/b")
    with pytest.raises(SubmissionError, match="napkin is not a regular file"):
        read_submission(folder, MODULES)


@posix
@pytest.mark.parametrize("kind", ["fifo", "socket"])
def test_a_fifo_or_socket_is_left_out_without_waiting(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = as_folder(tmp_path, BOTH)
    monkeypatch.chdir(folder)  # as a socket's name must be short
    if kind == "fifo":
        os.mkfifo("napkin/pipe.py")
    else:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("napkin/pipe.py")
    read = read_submission(folder, MODULES)
    assert (read.files, "napkin/pipe.py is not a regular file" in only_note(read)) == (BOTH, True)


@posix
def test_what_became_a_link_or_a_fifo_while_it_was_read_is_neither_followed_nor_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folder = as_folder(tmp_path, BOTH)
    os.mkfifo(folder / "napkin/pipe.py")
    (folder / "napkin/link.py").symlink_to("/etc/passwd")
    is_folder = stat.S_ISDIR
    monkeypatch.setattr(listing.stat, "S_ISREG", lambda mode: not is_folder(mode))
    read = read_submission(folder, MODULES)
    assert read.files == {**BOTH, "napkin/pipe.py": b""}
    assert only_note(read).startswith("napkin/link.py could not be read (")


def test_a_file_that_cannot_be_opened_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = as_folder(tmp_path, BOTH)

    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(listing.os, "open", refuse)
        with pytest.raises(SubmissionError, match=r"napkin/views.py could not be read \(Permission denied\)"):
            read_submission(folder, MODULES)


@posix
def test_a_folder_that_cannot_be_listed_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = as_folder(tmp_path, BOTH)
    monkeypatch.chdir(folder)
    for _ in range(18):  # the whole path becomes longer than the system takes
        os.mkdir("d" * 250)
        os.chdir("d" * 250)
    read = read_submission(folder, MODULES)
    assert (read.files, "could not be read (File name too long)" in only_note(read)) == (BOTH, True)


def test_folders_are_not_walked_without_end(tmp_path: Path):
    folder = as_folder(tmp_path, {**BOTH, "/".join(["napkin", *"d" * 30, "x.py"]): b""})
    assert read_submission(folder, MODULES).files == BOTH


def test_a_virtual_environment_of_any_name_is_not_looked_at(tmp_path: Path):
    files = {**BOTH, "env/pyvenv.cfg": b"", **{f"env/lib/{n}.py": b"" for n in range(30)}}
    assert read_submission(as_folder(tmp_path, files), MODULES, limits=Limits(max_entries=10)).files == BOTH


# --- zips ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["../views.py", "napkin/../../x.py", "/etc/x.py", "C:/x.py", "c:x.py", "napkin\\x.py", "..\\x.py", "napkin/.."],
)
def test_a_name_that_leads_out_is_left_out_and_named(name: str, tmp_path: Path):
    read = read_submission(as_zip(tmp_path, {name: b"evil", **BOTH}), MODULES)
    assert read.files == BOTH
    reason = "has a name that is absolute or holds '..', a backslash or a NUL, and was left out."
    assert only_note(read).endswith(reason)
    assert name.replace("\\", "\\\\") in only_note(read)


def test_a_name_with_a_nul_is_not_cut_to_another(tmp_path: Path):
    content = packed({"napkin/views.py!": b"evil"}).replace(b"views.py!", b"views.py\0")
    with pytest.raises(SubmissionError, match=r"'napkin/views.py\\x00' has a name that"):
        read_submission(written(tmp_path, content), MODULES)


@pytest.mark.parametrize("mode", [LINK, DEVICE])
def test_a_link_or_device_in_a_zip_is_left_out(mode: int, tmp_path: Path):
    member = zipfile.ZipInfo("napkin/link.py")
    member.external_attr = mode << 16
    read = read_submission(written(tmp_path, packed([*BOTH.items(), (member, b"/etc/passwd")])), MODULES)
    assert (read.files, "napkin/link.py is not a regular file" in only_note(read)) == (BOTH, True)


def test_entries_for_folders_and_dots_in_names_do_no_harm(tmp_path: Path):
    files = [("napkin/", b""), (".", b""), *((f"./{path.replace('/', '//')}", text) for path, text in BOTH.items())]
    read = read_submission(written(tmp_path, packed(files)), MODULES)
    assert (read.files, read.notes) == (BOTH, ())


def test_of_two_members_with_one_name_the_first_is_kept(tmp_path: Path):
    read = read_submission(written(tmp_path, packed([*BOTH.items(), ("napkin/views.py", b"second")])), MODULES)
    assert (read.files, "napkin/views.py is there a second time" in only_note(read)) == (BOTH, True)


@pytest.mark.parametrize("names", [("napkin/a", "napkin/a/b.py"), ("napkin/a/b.py", "napkin/A")])
def test_a_name_cannot_be_a_file_and_a_folder(names: tuple[str, str], tmp_path: Path):
    read = read_submission(as_zip(tmp_path, {**BOTH, **dict.fromkeys(names, b"")}), MODULES)
    assert (set(read.files), only_note(read).split()[0]) == ({*BOTH, names[0]}, names[1])
    stage(read, tmp_path / "staged")


def test_a_member_with_a_password_is_named(tmp_path: Path):
    content = with_directory(packed({"napkin/views.py": b"x"}), 8, b"\1\0")
    with pytest.raises(SubmissionError, match=r"napkin/views.py is locked with a password and was left out\. Expected"):
        read_submission(written(tmp_path, content), MODULES)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_method_whose_memory_is_not_bounded_is_refused(method: int, tmp_path: Path):
    with pytest.raises(SubmissionError, match=r"napkin/views.py is packed by a method other than deflate"):
        read_submission(written(tmp_path, packed({"napkin/views.py": b"x"}, method)), MODULES)


@pytest.mark.parametrize(("offset", "field"), [(16, b"\0\0\0\0"), (24, b"\5\0\0\0"), (42, b"\5\0\0\0")])
def test_a_member_with_a_lying_header_is_left_out(offset: int, field: bytes, tmp_path: Path):
    content = with_directory(packed({"napkin/views.py": bytes(1 << 20), "napkin/shapes.py": b"x"}), offset, field)
    read = read_submission(written(tmp_path, content), MODULES)
    assert read.files == {"napkin/shapes.py": b"x"}
    assert only_note(read) == "napkin/views.py could not be read (it is damaged) and was left out."


def test_a_bomb_costs_no_memory(tmp_path: Path):
    bomb = written(tmp_path, packed({**BOTH, "napkin/zeros.bin": bytes(200 << 20), "zeros.bin": bytes(1 << 20)}))
    tracemalloc.start()
    read = read_submission(bomb, MODULES)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (read.files, "more than 2,097,152," in only_note(read)) == (BOTH, True)
    assert peak_bytes < 4 << 20


def test_members_that_overlap_are_a_bomb(tmp_path: Path):
    with pytest.raises(SubmissionError, match=r"claims to hold 3,145,728,000: no zip can\."):
        read_submission(written(tmp_path, overlapping(1500, bytes(2 << 20))), MODULES)


# --- what cannot be read at all --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"hand-in.zip is empty \(0 bytes\)"),
        (
            b"not a zip",
            r"hand-in.zip is not a zip\. Expected: a zip that your computer can open\. Run `make submission`",
        ),
        (packed(BOTH)[:-30], "hand-in.zip is a damaged or incomplete zip"),
        (packed({}), "hand-in.zip holds no napkin package .* Seen: no files. Expected: a folder napkin with views.py"),
        (overlapping(30_000, b""), "There are over 20,000 files and folders: leave out data and environments"),
        (overlapping(900_000, b""), "There are over 20,000 files and folders"),
        (bytes(100), "is not a zip"),
    ],
    ids=["empty", "text", "truncated", "no members", "30 000", "900 000", "zeros"],
)
def test_a_file_that_is_no_zip_of_a_submission_is_refused(content: bytes, message: str, tmp_path: Path):
    with pytest.raises(SubmissionError, match=message):
        read_submission(written(tmp_path, content), MODULES)


@pytest.mark.parametrize("name", ["views.py", "napkin_math.ipynb"])
def test_an_empty_upload_is_refused(name: str, tmp_path: Path):
    with pytest.raises(SubmissionError, match=rf"{name} is empty \(0 bytes\): the upload may have been cut off"):
        read_submission(written(tmp_path, b"", name), MODULES)


@posix
@pytest.mark.parametrize("kind", ["nothing", "fifo", "loop"])
def test_what_is_neither_folder_nor_file_is_refused(kind: str, tmp_path: Path):
    path = tmp_path / "hand-in"
    {"nothing": lambda: None, "fifo": lambda: os.mkfifo(path), "loop": lambda: path.symlink_to(path)}[kind]()
    with pytest.raises(SubmissionError, match="There is no folder or regular file hand-in"):
        read_submission(path, MODULES)


def test_a_zip_that_cannot_be_opened_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(_: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(SubmissionError, match=r"hand-in.zip could not be read \(Permission denied\)"):
        read_submission(as_zip(tmp_path, BOTH), MODULES)


@both_ways
def test_a_submission_without_a_package_is_told_at_most_ten_names_that_were_seen(place: Place, tmp_path: Path):
    files = {f"f{n:02}.txt": b"" for n in range(11)} | {"a b/c.txt": b""}
    with pytest.raises(SubmissionError, match=r"Seen: 'a b/', f00.txt, .*, f08.txt and 2 more\. Expected"):
        read_submission(place(tmp_path, files), MODULES)


@pytest.mark.parametrize("inside", [[], [".git/config"], ["napkin/views.pyc"]])
def test_a_folder_with_nothing_of_use_is_refused(inside: list[str], tmp_path: Path):
    (tmp_path / "hand-in").mkdir()
    with pytest.raises(SubmissionError, match="hand-in holds no napkin package"):
        read_submission(as_folder(tmp_path, dict.fromkeys(inside, b"")), MODULES)


@both_ways
@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (Limits(max_files=1), "The package has more than 1 files or 20,971,520 bytes: leave out what is not your code"),
        (Limits(max_total_bytes=17), "The package has more than 2,000 files or 17 bytes"),
        (Limits(max_entries=1), "There are over 1 files and folders"),
    ],
)
def test_a_submission_over_a_limit_is_refused(place: Place, limits: Limits, message: str, tmp_path: Path):
    with pytest.raises(SubmissionError, match=message):
        read_submission(place(tmp_path, BOTH), MODULES, limits=limits)


def test_a_large_archive_is_refused_unread(tmp_path: Path):
    with pytest.raises(SubmissionError, match=r"hand-in.zip has \d+ bytes, more than 100: leave out data and weights"):
        read_submission(as_zip(tmp_path, BOTH), MODULES, limits=Limits(max_archive_bytes=100))


@settings(max_examples=150, deadline=2000)
@given(
    edits=st.lists(st.tuples(st.integers(0, 600), st.integers(0, 3), st.binary(max_size=8)), max_size=6),
    junk=st.one_of(st.none(), st.binary(max_size=200)),
)
def test_random_and_mutated_zips_raise_nothing_but_submission_errors(
    edits: list[tuple[int, int, bytes]], junk: bytes | None, tmp_path_factory: pytest.TempPathFactory
):
    content = packed({**BOTH, "napkin_math.ipynb": b"{}" * 40}) if junk is None else b"PK\5\6" + junk
    for at, cut, put in edits:
        content = content[: at % (len(content) + 1)] + put + content[at % (len(content) + 1) + cut :]
    path = written(tmp_path_factory.getbasetemp(), content or b"-", "mutated.zip")
    try:
        told = read_submission(path, MODULES).notes
    except SubmissionError as error:
        told = (str(error),)
    assert all(sentence.isprintable() for sentence in told)


# --- digest and staging ----------------------------------------------------------------------------------------------


def digest(files: Files) -> str:
    return Submission("hand-in", files, (), ()).sha256


def test_a_folder_and_its_zip_have_the_same_digest(tmp_path: Path):
    folder, archive = (read_submission(place(tmp_path, BOTH), MODULES) for place in (as_folder, as_zip))
    assert folder.sha256 == archive.sha256 == digest(dict(reversed(BOTH.items())))


def test_moving_a_byte_between_path_and_content_changes_the_digest():
    digests = [digest(files) for files in ({}, {"ab": b"c"}, {"a": b"bc"}, {"ab": b"", "c": b""}, {"abc": b""})]
    assert len(set(digests)) == len(digests)


@pytest.mark.parametrize(
    ("name", "shown"), [("hand-in", "hand-in"), ("a\x1b b", r"a\x1b b"), ("x" * 200, "x" * 99 + "…")]
)
def test_the_name_is_harmless(name: str, shown: str, tmp_path: Path):
    assert read_submission(as_folder(tmp_path, BOTH).rename(tmp_path / name), MODULES).name == shown


@posix
def test_staged_files_are_what_was_read_and_everyone_may_read_them(tmp_path: Path):
    files = {**BOTH, "napkin/own/größe.py": b"\r\n", "napkin_math.ipynb": b"{}"}
    before = os.umask(0o077)
    try:
        stage(Submission("hand-in", files, (), ()), tmp_path / "work/staged")
    finally:
        os.umask(before)
    paths = list((tmp_path / "work/staged").rglob("*"))
    assert {
        path.relative_to(tmp_path / "work/staged").as_posix(): path.read_bytes() for path in paths if path.is_file()
    } == files
    assert {stat.S_IMODE(path.stat().st_mode) for path in paths if path.is_file()} == {0o644}
    assert {stat.S_IMODE(path.stat().st_mode) for path in (*paths, tmp_path / "work/staged") if path.is_dir()} == {
        0o755
    }
    assert os.listdir(tmp_path) == ["work"]


@pytest.mark.parametrize("path", ["../x.py", "/x.py", "napkin/../../x.py", "C:/x.py", "napkin\\x.py", "napkin/\0.py"])
def test_staging_refuses_to_write_outside(path: str, tmp_path: Path):
    with pytest.raises(SubmissionError, match="expected one below the folder: nothing was staged"):
        stage(Submission("hand-in", {**BOTH, path: b""}, (), ()), tmp_path / "staged")
    assert os.listdir(tmp_path) == []


@posix
def test_staging_refuses_a_folder_with_a_link_in_it(tmp_path: Path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "staged").mkdir()
    (tmp_path / "staged/napkin").symlink_to(tmp_path / "outside")
    with pytest.raises(SubmissionError, match="expected an empty folder: stage into a new one"):
        stage(Submission("hand-in", BOTH, (), ()), tmp_path / "staged")
    assert os.listdir(tmp_path / "outside") == []


# --- the notebook's answers ------------------------------------------------------------------------------------------


def answered(tmp_path: Path, files: dict[str, bytes]) -> Submission:
    return read_submission(as_folder(tmp_path, files), [*MODULES, "napkin_math"])


def test_the_notebooks_answers_become_a_module_beside_the_package(tmp_path: Path):
    cell = b'{"cell_type": "code", "id": "x", "metadata": {}, "outputs": [], "execution_count": null, '
    cell += b'"source": "answer_1 = 7"}'
    notebook = b'{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [' + cell + b"]}"
    read = answered(tmp_path, {**BOTH, "napkin_math.ipynb": notebook})
    assert b"'answer_1': 7.0" in read.files["napkin_math.py"]
    assert (read.missing, read.notes) == ((), ())


def test_a_missing_notebook_is_missing_and_its_module_is_there_all_the_same(tmp_path: Path):
    read = answered(tmp_path, BOTH)
    assert read.missing == ("napkin_math.ipynb",)
    assert "napkin_math.py" in read.files


def test_a_broken_notebook_is_said_and_costs_nothing_else(tmp_path: Path):
    read = answered(tmp_path, {**BOTH, "napkin_math.ipynb": b"{"})
    assert (read.missing, set(read.files)) == ((), {*BOTH, "napkin_math.ipynb", "napkin_math.py"})
    assert only_note(read).startswith("napkin_math.ipynb is no notebook that can be read")


def test_a_students_own_file_never_stands_for_the_notebooks_answers(tmp_path: Path):
    read = answered(tmp_path, {**BOTH, "napkin_math.py": b"answer = 42", "napkin/napkin_math.py": b"answer = 42"})
    assert b"42" not in read.files["napkin_math.py"]

"""Archives that were made to harm: nothing leaves the folder, nothing but folders and files is made."""

import contextlib
import io
import os
import stat
import struct
import tarfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_archives import tar_of

from oodometer.errors import MissingDataError
from oodometer.fetching import unpack as unpacking
from oodometer.fetching.unpack import unpack
from oodometer.progress import Silent


@pytest.fixture
def undo(tmp_path):
    """Return a function that writes an archive and unpacks it; it gives the folder of the contents."""

    def run(content, name="a.tar"):
        (tmp_path / name).write_bytes(content)
        return unpack(tmp_path / name, tmp_path / "deep" / "er" / "into", Silent())

    return run


def tree(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


FILES = {"set/a/1.jpg": b"one", "set/a/2.jpg": b"", "set/README.txt": b"three" * 1000}


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_a_tar_is_unpacked_whatever_its_compression_and_name(undo, mode):
    assert tree(undo(tar_of(FILES, mode), name="a.tar.gz")) == {n.removeprefix("set/"): c for n, c in FILES.items()}


@pytest.mark.parametrize("mode", ["w", "w:xz"])
def test_the_bar_ends_where_the_archive_does(tmp_path, mode):
    class Told(Silent):
        def begin(self, title, total, done):
            self.total, self.position = total, done

        def advance(self, steps):
            self.position += steps

    (tmp_path / "a.tar").write_bytes(tar_of(FILES, mode))
    told = Told()
    unpack(tmp_path / "a.tar", tmp_path / "into", told)
    assert told.position == told.total == (tmp_path / "a.tar").stat().st_size


def test_a_zip_is_unpacked_too(undo):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.mkdir("set/empty")
        for name, content in FILES.items():
            archive.writestr(name, content)
    made = undo(stream.getvalue(), "a.ZIP")
    assert tree(made) == {n.removeprefix("set/"): c for n, c in FILES.items()}
    assert (made / "empty").is_dir()


def test_several_things_at_the_top_stay_as_they_are(undo):
    files = {"./fog/1/n01440764/a.JPEG": b"a", "snow//1/n01440764/a.JPEG": b"b"}
    made = undo(tar_of(files))
    assert tree(made) == {"fog/1/n01440764/a.JPEG": b"a", "snow/1/n01440764/a.JPEG": b"b"}
    assert made.name == "into"


def test_one_file_at_the_top_is_no_parent_folder(undo):
    assert tree(undo(tar_of({"labels.npy": b"5"}))) == {"labels.npy": b"5"}


def member(name, kind=tarfile.REGTYPE, content=b"", **said):
    """Return the blocks of one entry of a tar file."""
    info = tarfile.TarInfo(name)
    info.type, info.size = kind, len(content)
    for key, value in said.items():
        setattr(info, key, value)
    padding = b"\0" * (-len(content) % 512)
    return info.tobuf(tarfile.PAX_FORMAT) + content + padding


END = b"\0" * 1024
ESCAPES = [
    "../evil",
    "a/../../evil",
    "/evil",
    "//evil",
    "a/b/../../../evil",
    "..",
    "a\\..\\..\\evil",
    "C:evil",
    "C:\\e",
]
UGLY = ["a\nb", "a\x1bb", "a\x7fb", "\udcff\udcfe", "a\u202eb", "n:stream", "x/" * 40 + "deep"]


@pytest.mark.parametrize("name", ESCAPES + UGLY)
@pytest.mark.parametrize("kind", [tarfile.REGTYPE, tarfile.DIRTYPE])
def test_names_that_lead_outside_or_are_no_names_are_refused(undo, tmp_path, name, kind):
    with pytest.raises(MissingDataError, match=r"its entry .* has a name"):
        undo(member("good.jpg", content=b"x") + member(name, kind, b"" if kind == tarfile.DIRTYPE else b"evil") + END)
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["a.tar", "deep", "er", "good.jpg", "into"]


@pytest.mark.parametrize("name", ["../evil", "/evil", "a\\..\\evil", "a\0/../../evil"])
def test_zip_names_that_lead_outside_are_refused(undo, tmp_path, name):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        info = zipfile.ZipInfo("placeholder")
        info.filename = name
        archive.writestr(info, b"evil")
    with pytest.raises(MissingDataError, match="has a name"):
        undo(stream.getvalue(), "a.zip")
    assert not [p for p in tmp_path.rglob("*") if p.is_file() and p.name != "a.zip"]


def test_a_tar_name_with_a_nul_in_it_is_refused(undo):
    pax = b"28 path=a\0/../../../../evil\n"
    with pytest.raises(MissingDataError, match="has a name"):
        undo(member("@", tarfile.XHDTYPE, pax) + member("good", content=b"x") + END)


SPECIAL = {
    "symbolic link": {"kind": tarfile.SYMTYPE, "linkname": "inside"},
    "hard link": {"kind": tarfile.LNKTYPE, "linkname": "good"},
    "device": {"kind": tarfile.CHRTYPE, "devmajor": 1, "devminor": 3},
    "named pipe": {"kind": tarfile.FIFOTYPE},
    "special file": {"kind": tarfile.CONTTYPE},
}


@pytest.mark.parametrize("word", SPECIAL)
def test_whatever_is_no_folder_and_no_plain_file_is_refused(undo, tmp_path, word):
    with pytest.raises(MissingDataError, match=f"entry 'evil' is a {word}"):
        undo(member("good", content=b"x") + member("evil", **SPECIAL[word]) + END)
    assert not os.path.lexists(tmp_path / "deep" / "er" / "into" / "evil")


@pytest.mark.parametrize("target", ["..", "/etc", "inside"])
def test_nothing_is_written_through_a_link(undo, tmp_path, target):
    (tmp_path / "deep" / "er").mkdir(parents=True)
    with pytest.raises(MissingDataError, match="symbolic link"):
        undo(member("out", tarfile.SYMTYPE, linkname=target) + member("out/evil", content=b"x") + END)
    assert not list(tmp_path.rglob("evil"))


def test_a_link_in_a_zip_is_refused(undo):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        info = zipfile.ZipInfo("link")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, "/etc/passwd")
    with pytest.raises(MissingDataError, match="link"):
        undo(stream.getvalue(), "a.zip")


def test_modes_and_owners_are_not_taken_over(undo):
    made = undo(member("tool", content=b"x", mode=0o6777, uid=1234, gid=1234) + END)
    told = (made / "tool").stat()
    assert not told.st_mode & (stat.S_ISUID | stat.S_ISGID | 0o111)
    assert told.st_uid == os.getuid()


TWICE = {
    "the same file": [("a", "file"), ("a", "file")],
    "written otherwise": [("a/b", "file"), ("a//./b", "file")],
    "a file over a folder": [("a/b", "file"), ("a", "file")],
    "a folder over a file": [("a", "file"), ("a/b", "file")],
    "a named folder over a file": [("a", "file"), ("a", "folder")],
}


@pytest.mark.parametrize("case", TWICE)
def test_a_name_that_comes_twice_is_refused(undo, case):
    kinds = {"file": tarfile.REGTYPE, "folder": tarfile.DIRTYPE}
    with pytest.raises(MissingDataError, match="is there twice"):
        undo(b"".join(member(name, kinds[kind]) for name, kind in TWICE[case]) + END)


class Insensitive(type(Path())):
    """A folder on a disk that does not tell upper from lower case, as those of Windows and macOS."""

    def __truediv__(self, name):
        return super().__truediv__(str(name).lower())


@pytest.mark.parametrize("names", [("x/a.JPEG", "x/a.jpeg"), ("N01/a", "n01/b")])
def test_names_that_differ_in_case_alone_are_told_where_the_disk_cannot_tell_them_apart(tmp_path, names):
    (tmp_path / "a.tar").write_bytes(tar_of({name: name.encode() for name in names}))
    assert set(tree(unpack(tmp_path / "a.tar", tmp_path / "one", Silent())).values()) == {n.encode() for n in names}
    with pytest.raises(MissingDataError, match="names that this disk does not tell apart"):
        unpack(tmp_path / "a.tar", Insensitive(tmp_path / "two"), Silent())


def test_a_folder_may_be_named_again(undo):
    made = undo(member("a/", tarfile.DIRTYPE) + member("a/b", content=b"x") + member("a", tarfile.DIRTYPE) + END)
    assert tree(made) == {"b": b"x"}


def test_what_grows_too_much_is_refused_before_it_is_written(undo, tmp_path):
    with pytest.raises(MissingDataError, match="more than 4 times"):
        undo(tar_of({"small": b"x", "zeros": bytes(9_000_000)}, "w:gz"))
    assert [p.name for p in tmp_path.rglob("*") if p.is_file()] in (["a.tar", "small"], ["small", "a.tar"])


def test_an_enormous_size_that_is_only_claimed_is_refused(undo):
    claim = bytearray(member("huge", content=b"x"))
    claim[124:136] = b"\x80" + (1 << 60).to_bytes(11, "big")
    claim[148:156] = b"%06o\0 " % tarfile.calc_chksums(bytes(claim[:512]))[0]
    with pytest.raises(MissingDataError, match="more than 4 times"):
        undo(bytes(claim) + END)


def test_a_flood_of_empty_files_has_an_end(undo, monkeypatch):
    monkeypatch.setattr(unpacking, "SLACK", 0)
    with pytest.raises(MissingDataError, match="more than 4 times"):
        undo(tar_of({f"{i}": b"" for i in range(2_000)}, "w:xz"))


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz"])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.8])
def test_a_cut_archive_is_refused(undo, mode, share):
    content = tar_of({f"{i}.jpg": os.urandom(3_000) for i in range(20)}, mode)
    with pytest.raises(MissingDataError, match=r"a\.tar"):
        undo(content[: int(len(content) * share)])


def test_a_zip_whose_contents_are_not_as_declared_is_refused(undo):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("a", b"0123456789")
    content = stream.getvalue()
    with pytest.raises(MissingDataError, match="damaged"):
        undo(content.replace(b"0123456789", b"0123456780"), "a.zip")


def test_an_encrypted_or_unknown_zip_is_refused(undo, tmp_path):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("a", b"0123456789")
    content = bytearray(stream.getvalue())
    central = content.index(b"PK\1\2")
    struct.pack_into("<H", content, central + 8, 1)  # the flag that says encrypted
    with pytest.raises(MissingDataError, match="damaged"):
        undo(bytes(content), "a.zip")


@given(st.binary(max_size=3000), st.integers(0, 20_000), st.sampled_from(["a.tar", "a.zip"]))
@settings(max_examples=80, deadline=None)
def test_noise_in_an_archive_is_refused_or_stays_inside(tmp_path_factory, noise, place, name):
    """Whatever the bytes, there is an error of ours or a tree of plain files."""
    base = tmp_path_factory.mktemp("noise")
    if name == "a.tar":
        content = tar_of({f"set/{i}.jpg": bytes([i]) * 700 for i in range(8)})
    else:
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w") as archive:
            for i in range(8):
                archive.writestr(f"set/{i}.jpg", bytes([i]) * 700)
        content = stream.getvalue()
    place %= len(content)
    (base / name).write_bytes(content[:place] + noise + content[place + len(noise) :])
    with contextlib.suppress(MissingDataError):
        unpack(base / name, base / "x" / "into", Silent())
    outside = [p for p in base.rglob("*") if not p.is_relative_to(base / "x" / "into")]
    assert sorted(p.name for p in outside) == sorted([name, "x"])
    assert not [p for p in base.rglob("*") if p.is_symlink() or not (p.is_file() or p.is_dir())]

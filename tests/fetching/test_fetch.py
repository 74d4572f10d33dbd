"""A set as a whole: there or not there, whatever happens in between."""

import errno
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import textwrap
import threading

import filelock
import pytest
from made_archives import PICTURES, tar_of

import oodometer
from oodometer.errors import ArgumentError, MissingDataError, StoreError
from oodometer.fetching import read_marker, sets, unpack
from oodometer.published import PUBLISHED, PublishedSet

INSIDE = {name.removeprefix("imagenet-r/"): content for name, content in PICTURES.items()}


def tree(folder):
    """Return all that a folder holds but the marker."""
    return {
        str(p.relative_to(folder)): p.read_bytes()
        for p in sorted(folder.rglob("*"))
        if p.is_file() and p.name != sets.MARKER
    }


def fetch(to, name="imagenet-r", mirror=None):
    return oodometer.fetch(name, to, mirror, progress=False)


def test_a_set_is_there_with_a_marker_and_nothing_else(server, published, tmp_path, synced):
    archive = published().archives[0]
    folder = fetch(tmp_path / "new" / "data")
    assert folder == tmp_path / "new" / "data" / "imagenet-r"
    assert tree(folder) == INSIDE
    assert [p.name for p in folder.parent.iterdir()] == ["imagenet-r"]
    marker = read_marker(folder)
    assert (marker.file, marker.digest, marker.source) == ("imagenet-r.tar", archive.digest, archive.url)
    assert marker.fetched.endswith("+00:00")
    assert synced == [1]


def test_what_is_there_is_not_fetched_again(server, published, tmp_path):
    published()
    fetch(tmp_path)
    (tmp_path / sets.STAGING / "imagenet-r").mkdir(parents=True)  # of a process killed right after the renaming
    (tmp_path / sets.STAGING / "imagenet-r" / "imagenet-r.tar").write_bytes(b"20 GB")
    server.files.clear()
    server.asked.clear()
    assert tree(fetch(tmp_path)) == INSIDE
    assert server.asked == []
    assert not (tmp_path / sets.STAGING / "imagenet-r").exists()


def test_the_current_folder_is_the_default(server, published, tmp_path, monkeypatch):
    published()
    monkeypatch.chdir(tmp_path)
    assert oodometer.fetch("imagenet-r", progress=False) == tmp_path / "imagenet-r"


@pytest.mark.parametrize("algorithm", ["md5", "sha256", "MD5", "SHA256"])
@pytest.mark.parametrize("case", [str.lower, str.upper])
def test_a_good_file_passes_whether_its_sum_is_in_upper_or_lower_case(server, published, tmp_path, algorithm, case):
    """Case J1."""
    digest = hashlib.new(algorithm.lower(), tar_of(PICTURES)).hexdigest()
    published(digest=f"{algorithm}:{case(digest)}")
    assert tree(fetch(tmp_path)) == INSIDE
    assert tree(fetch(tmp_path)) == INSIDE


def test_a_good_file_passes_though_the_size_in_the_table_is_stale(server, published, tmp_path):
    """Case J1: a stored figure that is wrong must not refuse a file that its publisher's checksum knows."""
    published(size=5)
    assert tree(fetch(tmp_path)) == INSIDE


@pytest.mark.parametrize("mirrored", [False, True])
def test_a_tar_cut_at_half_its_length_is_refused_before_anything_is_unpacked(
    server, published, tmp_path, monkeypatch, mirrored
):
    """Case J1: with the expected and the found sizes and sums."""
    archive = published().archives[0]
    whole = server.files["imagenet-r.tar"]
    half = server.files["imagenet-r.tar"] = whole[: len(whole) // 2]
    mirror = None
    if mirrored:
        mirror = tmp_path / "mirror"
        mirror.mkdir()
        (mirror / "imagenet-r.tar").write_bytes(half)
    with monkeypatch.context() as patch:
        patch.setattr(sets, "unpack", lambda *arguments: pytest.fail("unpacked"))
        with pytest.raises(MissingDataError) as error:
            fetch(tmp_path / "data", mirror=mirror)
    for part in (f"{len(whole):,} bytes", f"{len(half):,} bytes", archive.digest[4:], hashlib.md5(half).hexdigest()):
        assert part in str(error.value)
    assert not list((tmp_path / "data").rglob("*"))  # the bad file is gone, so the next call begins anew
    assert not mirrored or (mirror / "imagenet-r.tar").exists()
    if not mirrored:
        server.files["imagenet-r.tar"] = whole
        assert tree(fetch(tmp_path / "data")) == INSIDE


def test_a_wrong_byte_is_found(server, published, tmp_path):
    published()
    body = bytearray(server.files["imagenet-r.tar"])
    body[5000] ^= 1
    server.files["imagenet-r.tar"] = bytes(body)
    with pytest.raises(MissingDataError, match=r"is not imagenet-r\.tar as published"):
        fetch(tmp_path)


@pytest.mark.parametrize("form", ["address", "address with a slash", "file address", "folder", "path"])
def test_a_mirror_is_used_in_place_of_the_publisher(server, published, tmp_path, form):
    archive = published().archives[0]
    folder = tmp_path / "my mirror"
    folder.mkdir()
    body = server.files.pop("imagenet-r.tar")
    (folder / "imagenet-r.tar").write_bytes(body)
    server.files["sets/imagenet-r.tar"] = body
    forms = {
        "address": server.url("sets"),
        "address with a slash": server.url("sets/"),
        "file address": folder.as_uri(),
    }
    made = fetch(tmp_path / "data", mirror=forms.get(form, str(folder) if form == "folder" else folder))
    assert tree(made) == INSIDE
    assert read_marker(made).source != archive.url
    assert bool(server.asked) == form.startswith("address")
    assert (folder / "imagenet-r.tar").read_bytes() == body


def test_a_mirrors_password_is_not_kept(server, published, tmp_path):
    published()
    server.files["sets/imagenet-r.tar"] = server.files["imagenet-r.tar"]
    made = fetch(tmp_path, mirror=server.url("sets").replace("http://", "http://me:secret@"))
    assert read_marker(made).source == server.url("sets/imagenet-r.tar")


def test_the_checksum_holds_for_a_mirror_too(server, published, tmp_path):
    published()
    server.files["sets/imagenet-r.tar"] = tar_of({"imagenet-r/evil": b"x"})
    with pytest.raises(MissingDataError, match="as published"):
        fetch(tmp_path, mirror=server.url("sets"))


@pytest.mark.parametrize("mirror", ["ftp://example.org", "http://", "file://elsewhere/x", "https://[", "", 5, "a\0b"])
def test_a_mirror_that_is_none_is_an_argument_error(published, tmp_path, mirror):
    published()
    with pytest.raises(ArgumentError, match=r"[Tt]he mirror"):
        fetch(tmp_path / "data", mirror=mirror)
    assert not (tmp_path / "data").exists()


def test_a_mirror_without_the_file_is_told_before_any_work(published, tmp_path):
    published()
    with pytest.raises(MissingDataError, match=r"has no imagenet-r\.tar"):
        fetch(tmp_path / "data", mirror=tmp_path)
    assert not (tmp_path / "data").exists()


def test_groups_have_folders_and_a_second_fetch_takes_only_what_is_missing(server, published, tmp_path, monkeypatch):
    files = {f"{g}.tar": tar_of({f"{g}_x/1/n01440764/a.JPEG": g.encode()}, "w:gz") for g in ("noise", "blur")}
    both = published("imagenet-c", files)
    for archive in both.archives:
        one = PublishedSet(f"imagenet-c-{archive.file[:-4]}", (archive,), None, "")
        monkeypatch.setitem(PUBLISHED, one.name, one)
    assert fetch(tmp_path, "imagenet-c-noise") == tmp_path / "imagenet-c" / "noise"
    server.asked.clear()
    folder = fetch(tmp_path, "imagenet-c")
    assert [path for path, _ in server.asked] == ["/blur.tar?download=1"]
    assert sorted(p.name for p in folder.iterdir()) == ["blur", "noise"]
    assert not (folder / sets.STAGING).exists()


def test_a_folder_that_no_fetch_finished_is_neither_taken_nor_touched(server, published, tmp_path):
    published()
    (tmp_path / "imagenet-r" / "n01440764").mkdir(parents=True)
    with pytest.raises(MissingDataError, match=r"there already.*marker is missing or damaged.*move it away"):
        fetch(tmp_path)
    assert [p.name for p in (tmp_path / "imagenet-r").iterdir()] == ["n01440764"]
    assert server.asked == []


@pytest.mark.parametrize("damage", [b"", b"{", b"[1]", b'{"file": 1}', b"\xff\xfe", "other digest"])
def test_a_damaged_marker_is_told(server, published, tmp_path, damage):
    published()
    marker = fetch(tmp_path) / sets.MARKER
    if damage == "other digest":
        damage = json.dumps(json.loads(marker.read_bytes()) | {"digest": "md5:0"}).encode()
    marker.write_bytes(damage)
    with pytest.raises(MissingDataError, match=r"no finished fetch of imagenet-r\.tar"):
        fetch(tmp_path)


def test_an_empty_folder_of_that_name_is_no_obstacle(server, published, tmp_path):
    published()
    (tmp_path / "imagenet-r").mkdir()
    assert tree(fetch(tmp_path)) == INSIDE


@pytest.mark.parametrize("obstacle", ["file", "link to nothing", "link to an empty folder"])
def test_something_else_of_that_name_is_told_before_the_download(server, published, tmp_path, obstacle):
    published()
    final = tmp_path / "data" / "imagenet-r"
    final.parent.mkdir()
    (tmp_path / "empty").mkdir()
    if obstacle == "file":
        final.write_text("")
    else:
        final.symlink_to(tmp_path / ("empty" if "empty" in obstacle else "nothing"))
    with pytest.raises(MissingDataError, match="there already"):
        fetch(tmp_path / "data")
    assert server.asked == []


def test_a_finished_set_behind_a_link_counts(server, published, tmp_path):
    published()
    (tmp_path / "disk").mkdir()
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "imagenet-r").symlink_to(fetch(tmp_path / "disk"))
    server.asked.clear()
    assert tree(fetch(tmp_path / "data")) == INSIDE
    assert server.asked == []


def test_a_target_that_is_a_file_is_told(published, tmp_path):
    published()
    (tmp_path / "data").write_text("")
    with pytest.raises(StoreError, match="data"):
        fetch(tmp_path / "data")


def test_an_archive_that_cannot_be_unpacked_leaves_no_set(server, published, tmp_path):
    content = tar_of({"imagenet-r/a": b"x"}) + tar_of({})
    link = tarfile.TarInfo("imagenet-r/evil")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc"
    content = content[:1024] + link.tobuf() + b"\0" * 1024
    published(files={"imagenet-r.tar": content})
    for _ in range(2):
        with pytest.raises(MissingDataError, match="symbolic link"):
            fetch(tmp_path)
        assert not (tmp_path / "imagenet-r").exists()
        assert not list(tmp_path.rglob("unpacked"))
    assert len(server.asked) == 1  # the archive is the published one, and is kept


def test_a_disk_that_fills_up_while_unpacking_is_told_and_continued(server, published, tmp_path, monkeypatch):
    published()
    real = shutil.copyfileobj
    calls = []

    def full(*arguments):
        calls.append(1)
        if len(calls) == 5:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(unpack.shutil, "copyfileobj", full)
        with pytest.raises(StoreError, match=r"disk is full while fetching imagenet-r.*same command again"):
            fetch(tmp_path)
    assert not (tmp_path / "imagenet-r").exists()
    assert not list(tmp_path.rglob("*.jpg"))
    assert tree(fetch(tmp_path)) == INSIDE
    assert len(server.asked) == 1


def test_a_disk_with_too_little_room_is_told_before_the_first_byte(server, published, tmp_path, monkeypatch):
    published(size=10_000_000)
    room = shutil.disk_usage(tmp_path)
    needed = round(1.1 * 10_000_000) + 20 * 2048 + 10_000_000
    for free, passes in ((needed - 1, False), (needed, True)):
        monkeypatch.setattr(sets.shutil, "disk_usage", lambda path, free=free: room._replace(free=free))
        if passes:
            assert tree(fetch(tmp_path)) == INSIDE
        else:
            with pytest.raises(MissingDataError, match=r"needs about 21\.0 MB.*21\.0 MB are free.*another disk"):
                fetch(tmp_path)
            assert server.asked == []
            assert list(tmp_path.iterdir()) == []


def test_what_is_downloaded_already_is_not_counted_twice(server, published, tmp_path, monkeypatch):
    archive = published(size=10_000_000).archives[0]
    server.script = [server.cut(100_000), server.says(404)]
    with pytest.raises(MissingDataError, match="404"):
        fetch(tmp_path)
    staged = sum(p.stat().st_size for p in (tmp_path / sets.STAGING / "imagenet-r").iterdir())
    assert staged > 90_000
    room = shutil.disk_usage(tmp_path)
    free = archive.unpacked + archive.size - staged
    monkeypatch.setattr(sets.shutil, "disk_usage", lambda path: room._replace(free=free))
    assert tree(fetch(tmp_path)) == INSIDE


def test_a_local_mirror_needs_no_room_for_the_archive(server, published, tmp_path, monkeypatch):
    archive = published(size=10_000_000).archives[0]
    (tmp_path / "imagenet-r.tar").write_bytes(server.files["imagenet-r.tar"])
    room = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(sets.shutil, "disk_usage", lambda path: room._replace(free=archive.unpacked))
    assert tree(fetch(tmp_path / "data", mirror=tmp_path)) == INSIDE


def test_two_processes_exclude_each_other(server, published, tmp_path):
    published()
    staging = tmp_path / sets.STAGING / "imagenet-r"
    staging.mkdir(parents=True)
    with filelock.FileLock(staging / ".lock"):
        with pytest.raises(StoreError, match="Another process is fetching"):
            fetch(tmp_path)
        assert server.asked == []
    assert tree(fetch(tmp_path)) == INSIDE


def test_nothing_is_visible_before_it_is_on_the_disk(server, published, tmp_path, monkeypatch):
    published()
    seen = []
    monkeypatch.setattr(sets.os, "sync", lambda: seen.append((tmp_path / "imagenet-r").exists()), raising=False)
    fetch(tmp_path)
    assert seen == [False]


def run_in_a_process(archive, to, pause, before=()):
    """Return a process that fetches the archive, and unpacks with a pause after each file."""
    arguments = [archive.url, archive.digest, str(archive.size), str(to), str(pause)]
    return subprocess.Popen(
        [*before, sys.executable, "-c", textwrap.dedent(PROCESS), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


PROCESS = """
    import sys, time
    from oodometer import fetching
    from oodometer.fetching import unpack
    from oodometer.published import PUBLISHED, Archive, PublishedSet

    url, digest, size, to, pause = sys.argv[1:]
    archive = Archive(url, digest, int(size), 20, "imagenet-r")
    PUBLISHED["imagenet-r"] = PublishedSet("imagenet-r", (archive,), None, "")
    copy = unpack.shutil.copyfileobj
    unpack.shutil.copyfileobj = lambda *a: (copy(*a), time.sleep(float(pause)))
    print(fetching.fetch("imagenet-r", to, progress=False))
"""


@pytest.mark.parametrize("moment", ["download", "unpack"])
def test_a_killed_process_is_continued(server, published, tmp_path, moment):
    """SIGKILL in the middle of the download, and in the middle of the unpacking."""
    archive = published().archives[0]

    def trickle(request, body):
        server.send(request, 200, body[:150_000], {"Content-Length": str(len(body)), "ETag": server.etag})
        request.connection.settimeout(30)
        request.rfile.read(1)  # until the process is killed

    server.script = [trickle] if moment == "download" else []
    staging = tmp_path / sets.STAGING / "imagenet-r"
    with run_in_a_process(archive, tmp_path, 0 if moment == "download" else 0.05) as process:
        _until(lambda: _has_begun(staging, moment), process)
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=30)
    assert not (tmp_path / "imagenet-r").exists()
    server.asked.clear()
    assert tree(fetch(tmp_path)) == INSIDE
    assert [p.name for p in tmp_path.iterdir()] == ["imagenet-r"]
    if moment == "download":
        ((_, span),) = server.asked
        assert 50_000 < int(span.removeprefix("bytes=").removesuffix("-")) <= 150_000
    else:
        assert server.asked == []


def _has_begun(staging, moment):
    if moment == "download":
        part = staging / "imagenet-r.tar.part"
        return part.exists() and part.stat().st_size > 50_000
    return len(list(staging.glob("unpacked/*/*/*.jpg"))) > 3


def _until(condition, process):
    for _ in range(3000):
        if condition():
            return
        assert process.poll() is None, process.stdout.read()
        threading.Event().wait(0.01)  # not time.sleep, which the fixture `slept` replaces
    pytest.fail("it never began")


SMALL_DISK = (
    'mount -t tmpfs -o size=200k tmpfs "$0" && "$@"; status=$?; find "$0" -name "*.part" -size +100k; exit $status'
)


def test_a_disk_that_is_really_full_is_told(server, published, tmp_path):
    """On a disk of 200 kB, of this test's own making where the system lets it."""
    disk = tmp_path / "disk"
    disk.mkdir()
    before = ["unshare", "--mount", "--map-root-user", "sh", "-c", SMALL_DISK, str(disk)]
    if not shutil.which("unshare") or subprocess.run([*before, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this system lets nobody make a small disk")
    archive = published(size=0, files={"imagenet-r.tar": tar_of(PICTURES)}).archives[0]
    with run_in_a_process(archive, disk, 0, before) as process:
        output = process.communicate(timeout=60)[0]
    assert process.returncode == 1
    assert "StoreError: The disk is full while fetching imagenet-r into" in output
    assert output.splitlines()[-1].endswith("imagenet-r.tar.part")


def test_frost_goes_its_own_way(monkeypatch, tmp_path):
    monkeypatch.setattr(sets, "fetch_frost", lambda: tmp_path)
    assert oodometer.fetch("frost") == tmp_path
    for options in ({"to": tmp_path}, {"mirror": tmp_path}):
        with pytest.raises(ArgumentError, match="frost go into your cache"):
            oodometer.fetch("frost", **options)


@pytest.mark.parametrize("name", ["imagenet-q", "ImageNet-R", "", None, 5, "../imagenet-r"])
def test_an_unknown_name_is_an_argument_error(name, tmp_path):
    with pytest.raises(ArgumentError, match="Unknown published set"):
        fetch(tmp_path, name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("to", ["", 5, None, "a\0b"])
def test_a_folder_that_is_none_is_an_argument_error(to):
    with pytest.raises(ArgumentError, match="folder to fetch to"):
        fetch(to)

"""Downloads from a server that fails in every way: the file comes whole, or nothing pretends to be it."""

import errno
import io
import time

import pytest
import requests

from oodometer.errors import MissingDataError
from oodometer.fetching import download as downloading
from oodometer.fetching.download import download
from oodometer.progress import Silent

BODY = bytes(range(256)) * 4_000  # a megabyte, and no two chunks of it alike in their place


class Told(Silent):
    """Remember what an observer is told."""

    def __init__(self):
        self.begun, self.position, self.notes = [], None, []

    def begin(self, title, total, done):
        self.begun.append((title, total, done))
        self.position = done

    def advance(self, steps):
        self.position += steps

    def note(self, text):
        self.notes += [text] if text else []


@pytest.fixture
def get(server, tmp_path):
    """Return a function that downloads the file and gives its bytes."""
    server.files["a.tar"] = BODY
    target = tmp_path / "a.tar"

    def run(observer=None, path="a.tar"):
        download(server.url(path), target, observer or Silent())
        assert sorted(p.name for p in tmp_path.iterdir()) == ["a.tar"]
        return target.read_bytes()

    return run


def test_a_file_comes_whole_in_one_request(get, server):
    told = Told()
    assert get(told) == BODY
    assert server.asked == [("/a.tar", None)]
    assert told.begun == [("a.tar: download", len(BODY), 0)]
    assert told.position == len(BODY)


@pytest.mark.parametrize("etag", ['"one"', None, 'W/"weak"'])
def test_after_a_cut_only_the_missing_bytes_are_asked_for(get, server, slept, etag):
    server.etag = etag
    if etag and etag.startswith("W/"):
        server.etag, weak = None, etag
        server.script = [lambda request, body: _cut_with(server, request, body, weak)]
    else:
        server.script = [server.cut(700_000)]
    told = Told()
    assert get(told) == BODY
    (_, first), (_, second) = server.asked
    assert first is None
    begin = int(second.removeprefix("bytes=").removesuffix("-"))
    assert 700_000 - downloading.CHUNK < begin <= 700_000
    assert server.sent == 700_000 + len(BODY) - begin
    assert told.position == len(BODY)
    assert len(told.begun) == 1
    assert slept == [1]
    assert "cut" in told.notes[0]


def _cut_with(server, request, body, etag):
    server.send(
        request, 200, body[:700_000], {"Content-Length": str(len(body)), "ETag": etag, "Last-Modified": server.modified}
    )
    request.close_connection = True


def test_many_cuts_are_no_failure_while_bytes_come(get, server, slept):
    server.script = [server.cut(100_000) for _ in range(3 * downloading.TRIES)]
    assert get() == BODY
    assert set(slept) == {1}


def test_what_an_earlier_process_left_is_continued(get, server, tmp_path):
    server.script = [server.cut(500_000)] + [server.says(500)] * downloading.TRIES
    with pytest.raises(MissingDataError, match=r"500 .*6 times in a row.*is kept.*--mirror"):
        get()
    left = (tmp_path / "a.tar.part").stat().st_size
    assert left > 400_000
    assert not (tmp_path / "a.tar").exists()
    server.script.clear()
    server.asked.clear()
    told = Told()
    assert get(told) == BODY
    assert server.asked == [("/a.tar", f"bytes={left}-")]
    assert told.begun == [("a.tar: download", len(BODY), left)]


def test_a_server_without_ranges_begins_anew(get, server):
    server.ranges, server.script = False, [server.cut(300_000)]
    told = Told()
    assert get(told) == BODY
    assert told.position == len(BODY)


def test_a_server_without_ranges_that_always_cuts_is_given_up(get, server):
    server.ranges, server.script = False, [server.cut(300_000)] * 100
    with pytest.raises(MissingDataError, match=r"cut.*in a row"):
        get()
    assert len(server.asked) == downloading.TRIES


@pytest.mark.parametrize("heeds", [True, False])
@pytest.mark.parametrize("etag", [True, False])
@pytest.mark.parametrize("more", [b"", b"longer"])
def test_a_file_that_changed_meanwhile_is_never_mixed_with_the_old_one(get, server, heeds, etag, more):
    """A server that ignores If-Range gives the rest of the new file; the new validators give it away."""
    server.etag = '"one"' if etag else None
    new = BODY[::-1] + more

    def change(request, body):
        server.send_file(request, body, stop=400_000)
        server.files["a.tar"] = new
        server.etag = '"two"' if etag else None
        server.modified = "Sun, 09 Sep 2001 01:46:41 GMT"

    def ignore(request, body):
        del request.headers["If-Range"]
        server.send_file(request, body)

    server.script = [change] + ([] if heeds else [ignore])
    assert get() == new
    assert len(server.asked) == (2 if heeds else 3)  # one that heeds If-Range sends all of the new file at once


def test_a_part_of_the_same_age_but_another_length_is_not_continued(get, server, tmp_path):
    server.etag = server.modified = None
    (tmp_path / "a.tar.part").write_bytes(b"x" * 1000)
    (tmp_path / "a.tar.part.json").write_text('{"etag": null, "modified": null, "length": 2000}')
    assert get() == BODY


def test_without_any_word_of_the_server_only_the_length_is_compared(get, server):
    server.etag, server.modified, server.script = None, None, [server.cut(500_000)]
    assert get() == BODY
    assert server.asked[1][1] is not None


@pytest.mark.parametrize(
    "stamp", [None, "", "{", "[]", '{"etag": 5}', '{"etag": null, "modified": null, "length": null}']
)
def test_a_part_without_a_sound_stamp_is_begun_anew(get, server, tmp_path, stamp):
    (tmp_path / "a.tar.part").write_bytes(b"what is this")
    if stamp is not None:
        (tmp_path / "a.tar.part.json").write_text(stamp)
    assert get() == BODY
    assert server.asked == [("/a.tar", None)]


def test_a_part_that_is_whole_needs_no_request(get, server, tmp_path):
    (tmp_path / "a.tar.part").write_bytes(BODY)
    (tmp_path / "a.tar.part.json").write_text(f'{{"etag": null, "modified": null, "length": {len(BODY)}}}')
    assert get() == BODY
    assert server.asked == []


def test_a_part_that_is_longer_than_the_file_is_begun_anew(get, server, tmp_path):
    (tmp_path / "a.tar.part").write_bytes(BODY + b"more")
    (tmp_path / "a.tar.part.json").write_text('{"etag": "\\"one\\"", "modified": null, "length": null}')
    assert get() == BODY
    assert [span for _, span in server.asked] == [f"bytes={len(BODY) + 4}-", None]


def test_a_range_that_begins_elsewhere_is_not_taken(get, server):
    def elsewhere(request, body):
        said = {"Content-Range": f"bytes 5-{len(body) - 1}/{len(body)}", "ETag": server.etag}
        server.send(request, 206, body[5:], said)

    server.script = [server.cut(300_000), elsewhere]
    assert get() == BODY
    assert [span is None for _, span in server.asked] == [True, False, True]


def test_a_partial_answer_that_nobody_asked_for_is_not_taken(get, server):
    server.script = [lambda request, body: server.send(request, 206, b"x", {"Content-Range": "bytes 0-0/9"})]
    assert get() == BODY


def test_more_bytes_promised_than_sent_is_a_cut(get, server):
    def lying(request, body):
        server.send(request, 200, body, {"Content-Length": str(len(body) + 10), "ETag": server.etag})
        request.close_connection = True

    server.script = [lying] * 100
    with pytest.raises(MissingDataError, match="in a row"):
        get()


def test_an_answer_in_chunks_of_unknown_length_comes_whole(get, server):
    def chunked(request, body):
        pieces = b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in (body[:1000], body[1000:]))
        server.send(request, 200, pieces + b"0\r\n\r\n", {"Transfer-Encoding": "chunked"})

    def broken(request, body):
        server.send(request, 200, b"%x\r\n%s" % (len(body), body[:1000]), {"Transfer-Encoding": "chunked"})
        request.close_connection = True

    server.script = [broken, chunked]
    told = Told()
    assert get(told) == BODY
    assert told.begun == [("a.tar: download", None, 0)]


def test_bytes_are_taken_as_they_are_whatever_the_encoding_is_called(get, server):
    """A server that calls a .tar.gz gzip-encoded must not have it unpacked on the way."""
    server.script = [
        lambda request, body: server.send(request, 200, body, {"Content-Encoding": "gzip", "ETag": server.etag})
    ]
    assert get() == BODY
    assert len(server.asked) == 1


@pytest.mark.parametrize("status", [401, 403, 404, 410, 501, 304, 204])
def test_a_plain_no_is_told_at_once(get, server, slept, status):
    server.script = (
        [server.says(status)]
        if status not in (204, 304)
        else [lambda request, body: server.send(request, status, b"", {"Content-Length": "0"})]
    )
    with pytest.raises(MissingDataError, match=f"a.tar could not be downloaded: the server says {status}"):
        get()
    assert len(server.asked) == 1
    assert slept == []


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_a_passing_no_is_asked_again_ever_more_slowly(get, server, slept, status):
    server.script = [server.says(status)] * 4
    assert get() == BODY
    assert slept == [1, 2, 4, 8]


def test_a_server_may_say_how_long_to_wait(get, server, slept):
    server.script = [server.says(429, Retry_After="7"), server.says(503, Retry_After="nonsense")]
    assert get() == BODY
    assert slept == [7, 2]


def test_a_date_to_wait_for_is_understood(get, server, slept):
    then = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + 100))
    server.script = [server.says(503, Retry_After=then)]
    assert get() == BODY
    assert 0 < slept[0] <= 100


def test_a_server_that_wants_to_be_left_alone_for_long_is(get, server, slept):
    server.script = [server.says(429, Retry_After="4000")]
    with pytest.raises(MissingDataError, match=r"429.*left alone for 4000 s"):
        get()
    assert slept == []


def test_redirects_are_followed(get, server):
    server.script = [server.says(302, Location="/b"), server.says(307, Location=server.url("a.tar"))]
    assert get() == BODY
    assert [path for path, _ in server.asked] == ["/a.tar", "/b", "/a.tar"]


def test_a_redirect_keeps_the_range(get, server):
    server.script = [server.cut(500_000), server.says(302, Location="/a.tar?again")]
    assert get() == BODY
    (_, none), (_, one), (path, two) = server.asked
    assert path == "/a.tar?again"
    assert none is None
    assert one == two is not None


def test_redirects_in_a_circle_end(get, server):
    server.script = [server.says(302, Location="/a.tar")] * 100
    with pytest.raises(MissingDataError, match="redirects"):
        get()
    assert len(server.asked) == downloading.REDIRECTS + 1


@pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://example.org/a.tar", "http://[nonsense"])
def test_a_redirect_to_something_else_than_the_web_is_refused(get, server, target):
    server.script = [server.says(302, Location=target)]
    with pytest.raises(MissingDataError, match="could not be downloaded"):
        get()


@pytest.mark.parametrize("target", ["http://elsewhere.org/a.tar", "//elsewhere.org/a.tar", "/b.tar", "https://x.org/a"])
def test_a_redirect_never_leaves_encryption(target):
    """Asked of the session alone: a server with a certificate would need one that is trusted here."""
    answer = requests.Response()
    answer.status_code, answer.url, answer.headers["Location"] = 302, "https://zenodo.org/a.tar", target
    session = downloading._Session()
    if target.startswith("http://"):
        with pytest.raises(MissingDataError, match="not encrypted"):
            session.get_redirect_target(answer)
    else:
        assert session.get_redirect_target(answer) == target


def test_an_untrusted_certificate_is_told_and_not_retried(get, slept, monkeypatch):
    def untrusted(*arguments, **options):
        raise requests.exceptions.SSLError("self-signed certificate")

    monkeypatch.setattr(requests.Session, "get", untrusted)
    with pytest.raises(MissingDataError, match=r"certificate is not trusted.*self-signed"):
        get()
    assert slept == []


def test_no_server_at_all_is_told_with_the_systems_words(tmp_path, slept):
    told = Told()
    with pytest.raises(MissingDataError, match=r"no answer.*refused.*6 times in a row.*By hand"):
        download("http://127.0.0.1:1/a.tar", tmp_path / "a.tar", told)
    assert told.begun == [("a.tar: download", None, 0)]
    assert "next try in 16 s" in told.notes[-1]
    assert slept == [1, 2, 4, 8, 16]
    assert list(tmp_path.iterdir()) == []


def test_the_environments_proxy_is_used(server, tmp_path, monkeypatch):
    address = "http://elsewhere.invalid/a.tar"
    server.files[address] = BODY
    monkeypatch.setenv("http_proxy", server.address)
    download(address, tmp_path / "a.tar", Silent())
    assert (tmp_path / "a.tar").read_bytes() == BODY
    assert server.asked == [(address, None)]


def test_an_address_that_is_none_is_told(tmp_path):
    with pytest.raises(MissingDataError, match="could not be downloaded"):
        download("http://", tmp_path / "a.tar", Silent())


def test_a_server_that_falls_silent_is_asked_for_the_rest(get, server, monkeypatch):
    monkeypatch.setattr(downloading, "TIMEOUT", (5, 0.3))
    quiet = io.BytesIO()

    def silent(request, body):
        said = {"Content-Length": str(len(body)), "ETag": server.etag}
        server.send(request, 200, body[:600_000], said)
        request.connection.settimeout(2)
        quiet.write(request.rfile.read(1) or b"")  # until the other side gives up

    server.script = [silent]
    assert get() == BODY
    assert server.asked[1][1] is not None


def test_a_full_disk_is_not_taken_for_a_cut(get, server, monkeypatch, slept, tmp_path):
    real = downloading.Path.open

    def full(path, mode="r", *rest, **options):
        file = real(path, mode, *rest, **options)
        if path.name.endswith(".part") and "a" in mode:
            return _Full(file)
        return file

    with monkeypatch.context() as patch:
        patch.setattr(downloading.Path, "open", full)
        with pytest.raises(OSError, match="No space") as error:
            get()
    assert error.value.errno == errno.ENOSPC
    assert slept == []
    assert (tmp_path / "a.tar.part").stat().st_size == 2 * downloading.CHUNK
    assert get() == BODY


class _Full:
    """A file on a disk that is full after two chunks."""

    def __init__(self, file):
        self._file, self._left = file, 2

    def __enter__(self):
        return self

    def __exit__(self, *arguments):
        self._file.close()

    def write(self, piece):
        if not self._left:
            raise OSError(errno.ENOSPC, "No space left on device")
        self._left -= 1
        return self._file.write(piece)

"""One file over HTTP, whole in the end: what is there already is continued, and never mixed with another edition.

Beside a file that is not whole lies what the server said of it (its ETag or date, and its length). A part is continued
only while the server still says the same; anything else begins anew. The checksum has the last word.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import msgspec
import requests
import urllib3
import urllib3.exceptions

from oodometer import __version__
from oodometer.errors import MissingDataError
from oodometer.progress import Observer

__all__ = ["download"]

TRIES = 6
"""How often the server is asked in a row without a new byte."""

FIRST_WAIT = 1.0
"""Seconds before the second try, doubled before each further one."""

LONGEST_WAIT = 300.0
"""Seconds that a server may ask us to wait; one that asks for more is left, and says so."""

REDIRECTS = 10
TIMEOUT = (10, 60)  # seconds to connect, and between two pieces of the answer
CHUNK = 1 << 16  # what a cut connection can cost, since a chunk is written when it is whole
PASSING = {408, 425, 429, 500, 502, 503, 504}  # what another try may not meet


class _PassingError(Exception):
    """Trouble that another try may not meet; ``wait`` is how many seconds the server asked for, if it did."""

    def __init__(self, reason: str, wait: float | None = None) -> None:
        super().__init__(reason)
        self.wait = wait


class _Stamp(msgspec.Struct, frozen=True):
    """What the server said of the file that a part belongs to."""

    etag: str | None
    modified: str | None
    length: int | None

    @property
    def validator(self) -> str | None:
        """What ``If-Range`` takes: a strong ETag, or the date."""
        return self.etag if self.etag and not self.etag.startswith("W/") else self.modified


class _Part:
    """What is there of a file so far."""

    def __init__(self, target: Path) -> None:
        self.path = target.with_name(f"{target.name}.part")
        self._stamp = target.with_name(f"{target.name}.part.json")

    def size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    def state(self) -> tuple[int, _Stamp | None]:
        """Return how many bytes can be continued, and of what; 0 and ``None`` where nothing can."""
        try:
            stamp = msgspec.json.decode(self._stamp.read_bytes(), type=_Stamp)
        except (FileNotFoundError, msgspec.DecodeError, UnicodeDecodeError):
            return 0, None
        size = self.size()
        known = stamp.validator is not None or stamp.length is not None
        return (size, stamp) if size and known else (0, None)

    def begin(self, stamp: _Stamp) -> None:
        """Begin a new file. The old bytes go first, so that they never stand beside the new stamp."""
        self.path.unlink(missing_ok=True)
        self._stamp.write_bytes(msgspec.json.encode(stamp))

    def drop(self) -> None:
        self._stamp.unlink(missing_ok=True)
        self.path.unlink(missing_ok=True)

    def finish(self, target: Path) -> None:
        with self.path.open("ab") as file:
            os.fsync(file.fileno())
        self.path.replace(target)
        self._stamp.unlink(missing_ok=True)


class _Meter:
    """Tells an observer, which knows only steps, of a position that may jump back."""

    def __init__(self, observer: Observer, title: str) -> None:
        self._observer, self._title = observer, title
        self._position: int | None = None

    def move_to(self, position: int, total: int | None) -> None:
        if self._position is None:
            self._observer.begin(self._title, total, position)
        else:
            self._observer.advance(position - self._position)
        self._position = position

    def note(self, text: str) -> None:
        if self._position is None:
            self.move_to(0, None)  # no server has answered yet, but somebody waits
        self._observer.note(text)


class _Session(requests.Session):
    """Follows redirects, but never from an encrypted connection to an open one."""

    def get_redirect_target(self, resp: requests.Response) -> str | None:
        target = super().get_redirect_target(resp)
        if target and urlsplit(resp.url).scheme == "https":
            following = urljoin(resp.url, target)
            if urlsplit(following).scheme != "https":
                raise MissingDataError(f"{resp.url} redirects to {following}, which is not encrypted. It was left.")
        return target


def download(url: str, target: Path, observer: Observer) -> None:
    """Download a file, or what is missing of it; ``target`` is there whole or not at all.

    Proxies, certificates and ``.netrc`` are the environment's, as ``requests`` takes them.

    Raises
    ------
    MissingDataError
        If the server refuses, or fails ``TRIES`` times in a row. What has come so far is kept for the next call.
    OSError
        If it cannot be written.
    """
    part, meter = _Part(target), _Meter(observer, f"{target.name}: download")
    failures, most = 0, part.size()
    with _Session() as session:
        session.max_redirects = REDIRECTS
        session.headers["User-Agent"] = f"oodometer/{__version__}"
        while True:
            try:
                _attempt(session, url, part, meter)
                break
            except _PassingError as trouble:
                # Only bytes that were never there before count as a step: a server without ranges may stop anywhere.
                failures, most = (failures + 1, most) if part.size() <= most else (1, part.size())
                _wait(url, trouble, failures, meter)
    part.finish(target)


def _wait(url: str, trouble: _PassingError, failures: int, meter: _Meter) -> None:
    wait = FIRST_WAIT * 2 ** (failures - 1) if trouble.wait is None else trouble.wait
    if failures >= TRIES:
        raise _failed(url, f"{trouble}, {TRIES} times in a row") from trouble
    if wait > LONGEST_WAIT:
        raise _failed(url, f"{trouble}, and the server asks to be left alone for {wait:.0f} s") from trouble
    meter.note(f"{trouble}; next try in {wait:.0f} s")
    time.sleep(wait)
    meter.note("")


def _failed(url: str, reason: str) -> MissingDataError:
    return MissingDataError(
        f"{url} could not be downloaded: {reason}. What has come is kept, and the same command continues. By hand: "
        "download it with a browser, and name the folder that holds it by --mirror FOLDER; its checksum is checked all "
        "the same."
    )


def _attempt(session: requests.Session, url: str, part: _Part, meter: _Meter) -> None:
    """Ask for what is missing, and write it; return once the file is whole as far as the server's word goes."""
    have, stamp = part.state()
    if stamp and have == stamp.length:
        return  # killed between the last byte and the new name
    with _answer(session, url, have, stamp) as response:
        now = _stamp(response)
        if response.status_code == 206 and stamp and _continues(response, now, have, stamp):
            now = stamp
        elif response.status_code == 200:
            have = 0
            part.begin(now)
        elif response.status_code in (206, 416):
            part.drop()
            raise _PassingError("the file on the server is not the one begun with", wait=0)
        else:
            raise _refused(url, response)
        meter.move_to(have, now.length)
        _receive(response, part, have, now, meter)
    if now.length is not None and part.size() != now.length:
        raise _PassingError(f"{part.size():,} bytes came of {now.length:,}")


@contextlib.contextmanager
def _answer(session: requests.Session, url: str, have: int, stamp: _Stamp | None) -> Iterator[requests.Response]:
    headers = {"Accept-Encoding": "identity"}  # the checksum is that of the file, and ranges count its bytes
    if stamp:
        headers["Range"] = f"bytes={have}-"
        if stamp.validator:
            headers["If-Range"] = stamp.validator
    try:
        response = session.get(url, headers=headers, stream=True, timeout=TIMEOUT)
    except requests.exceptions.SSLError as error:
        raise _failed(url, f"its certificate is not trusted ({_root(error)})") from error
    except (requests.ConnectionError, requests.Timeout) as error:
        raise _PassingError(f"no answer ({_root(error)})") from error
    except (requests.RequestException, ValueError) as error:  # redirects without end, an address that is none
        raise _failed(url, str(error).rstrip(".")) from error
    with response:
        yield response


def _stamp(response: requests.Response) -> _Stamp:
    said = response.headers
    length = said.get("Content-Length", "")
    return _Stamp(said.get("ETag"), said.get("Last-Modified"), int(length) if length.isdecimal() else None)


def _continues(response: requests.Response, now: _Stamp, have: int, stamp: _Stamp) -> bool:
    """Say whether a partial answer begins where our part ends, and is of the same file; not all heed If-Range."""
    _, _, said = response.headers.get("Content-Range", "").partition("bytes ")
    span, _, total = said.partition("/")
    # A partial answer need not repeat all that was said of the whole.
    pairs = ((total, str(stamp.length or "*")), (now.etag, stamp.etag), (now.modified, stamp.modified))
    return span.startswith(f"{have}-") and all(one == other for one, other in pairs if not {one, other} & {None, "*"})


def _receive(response: requests.Response, part: _Part, have: int, now: _Stamp, meter: _Meter) -> None:
    try:
        with part.path.open("ab") as file:
            for piece in response.raw.stream(CHUNK, decode_content=False):
                file.write(piece)
                have += len(piece)
                meter.move_to(have, now.length)
    except urllib3.exceptions.HTTPError as error:
        raise _PassingError(f"the connection was cut ({_root(error)})") from error


def _refused(url: str, response: requests.Response) -> Exception:
    reason = f"the server says {response.status_code} {response.reason or ''}".rstrip()
    if response.status_code not in PASSING:
        return _failed(url, reason)
    try:
        wait = urllib3.Retry().get_retry_after(response.raw)
    except urllib3.exceptions.InvalidHeader:
        wait = None
    return _PassingError(reason, wait)


def _root(error: BaseException) -> str:
    """Return what lies at the bottom of an error of urllib3's: it wraps the system's words several times over."""
    while error.__cause__ or error.__context__:
        error = error.__cause__ or error.__context__ or error
    return str(error) or type(error).__name__

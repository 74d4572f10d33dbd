"""A web server on this machine alone, as honest or as hostile as a test wants it, and archives for it to serve."""

import contextlib
import email.utils
import hashlib
import http.server
import threading

import pytest
from made_archives import PICTURES, tar_of

from oodometer.fetching import download as downloading
from oodometer.fetching import sets
from oodometer.published import PUBLISHED, Archive, PublishedSet


class Server:
    """Serves ``files`` (path to bytes) with ranges and an ETag; ``script`` has what to do instead."""

    def __init__(self):
        self.files, self.script, self.asked, self.sent = {}, [], [], 0
        self.ranges, self.etag, self.modified = True, '"one"', email.utils.formatdate(1e9, usegmt=True)
        self.address = None

    def url(self, name):
        return f"{self.address}/{name}"

    def answer(self, request):
        """Answer as a good server does; ``asked`` keeps what the request asked for."""
        body = self.files.get(request.path.partition("?")[0].lstrip("/"))
        self.asked.append((request.path, request.headers.get("Range")))
        step = self.script.pop(0) if self.script else None
        if step is not None:
            step(request, body)
        elif body is None:
            self.send(request, 404, b"nothing here")
        else:
            self.send_file(request, body)

    def send_file(self, request, body, stop=None):
        """Send a file or the range asked for, and cut the connection after ``stop`` bytes."""
        begin, span = 0, request.headers.get("Range")
        unchanged = request.headers.get("If-Range") in (None, self.etag, None if self.etag else self.modified)
        if span and self.ranges and unchanged:
            begin = int(span.removeprefix("bytes=").removesuffix("-"))
            if begin >= len(body):
                self.send(request, 416, b"", {"Content-Range": f"bytes */{len(body)}"})
                return
        said = {"Content-Length": str(len(body) - begin)}
        said |= {"ETag": self.etag} if self.etag else {}
        said |= {"Last-Modified": self.modified} if self.modified else {}
        if begin:
            said["Content-Range"] = f"bytes {begin}-{len(body) - 1}/{len(body)}"
        self.send(request, 206 if begin else 200, body[begin : None if stop is None else begin + stop], said)
        if stop is not None:
            request.close_connection = True

    def send(self, request, status, body, said=None):
        """Send an answer as it is given; ``sent`` counts the bytes of all."""
        self.sent += len(body)
        request.send_response(status)
        for name, value in (said if said is not None else {"Content-Length": str(len(body))}).items():
            request.send_header(name, value)
        if said is not None and "Content-Length" not in said and "Transfer-Encoding" not in said:
            request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    def cut(self, after):
        """Return a step that breaks off after so many bytes."""
        return lambda request, body: self.send_file(request, body, stop=after)

    def says(self, status, **said):
        """Return a step that only says no."""
        headers = {name.replace("_", "-"): value for name, value in said.items()}
        return lambda request, body: self.send(request, status, b"no", {"Content-Length": "2"} | headers)


@pytest.fixture
def server():
    """Run a server on 127.0.0.1 until the end of the test."""
    serving = Server()

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle(self):
            with contextlib.suppress(ConnectionError):  # the other side may leave whenever it likes
                super().handle()

        def do_GET(self):
            serving.answer(self)

        def log_message(self, *arguments):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        listening.daemon_threads = True
        serving.address = f"http://127.0.0.1:{listening.server_port}"
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield serving
        listening.shutdown()
        thread.join(timeout=10)


@pytest.fixture(autouse=True)
def bare_network(monkeypatch):
    """Take the environment's proxies away: the server is on this machine."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture(autouse=True)
def slept(monkeypatch):
    """Return the seconds that were waited for, without waiting."""
    seconds = []
    monkeypatch.setattr(downloading.time, "sleep", seconds.append)
    return seconds


@pytest.fixture(autouse=True)
def synced(monkeypatch):
    """Spare this machine the flushing of all its disks; return how often it was asked for."""
    calls = []
    monkeypatch.setattr(sets.os, "sync", lambda: calls.append(1), raising=False)
    return calls


@pytest.fixture
def published(server, monkeypatch):
    """Publish archives on the server as a set, and put the set into the table."""

    def publish(name="imagenet-r", files=None, **different):
        files = {f"{name}.tar": tar_of(PICTURES)} if files is None else files
        archives = []
        for file, body in files.items():
            server.files[file] = body
            said = {"digest": f"md5:{hashlib.md5(body).hexdigest()}", "size": len(body), "files": 20} | different
            folder = name if len(files) == 1 else f"{name}/{file.partition('.')[0]}"
            archives.append(Archive(server.url(f"{file}?download=1"), folder=folder, **said))
        one = PublishedSet(name, tuple(archives), "MIT", "https://example.org/the-set")
        monkeypatch.setitem(PUBLISHED, name, one)
        return one

    return publish

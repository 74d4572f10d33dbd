"""What the live page refuses: other hosts, other methods, tricks with paths, and uploads that are huge or no image."""

import asyncio
import io
import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
import zlib

import numpy as np
import PIL.Image
import pytest
from live import photograph, pixels, run_at
from starlette.exceptions import HTTPException
from starlette.requests import Request

import oodometer
from oodometer import cli
from oodometer.corruptions.registry import REGISTRY
from oodometer.datasets import demo_photographs
from oodometer.errors import MissingDataError, ModelError
from oodometer.families import GROUPS
from oodometer.viewing import playground
from oodometer.viewing.app import _at_most, make_app
from oodometer.viewing.playground import Playground

BYTES = {"content-type": "application/octet-stream"}


def encoded(image, kind="PNG", **options):
    sink = io.BytesIO()
    image.save(sink, kind, **options)
    return sink.getvalue()


def bomb(width, height):
    """Return a PNG file of some bytes that claims any number of pixels."""

    def chunk(kind, content):
        return len(content).to_bytes(4, "big") + kind + content + zlib.crc32(kind + content).to_bytes(4, "big")

    head = width.to_bytes(4, "big") + height.to_bytes(4, "big") + bytes([8, 2, 0, 0, 0])
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0" * 9999)) + chunk(b"IEND", b"")
    )


@pytest.fixture
def client(ask, two_runs, photographs):
    return ask(two_runs, data=[str(photographs)])


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "192.168.0.1", "", "[::1]:8765", "localhost.x"]
)
@pytest.mark.parametrize("place", ["/", "/playground", "/static/style.css", "/nope"])
def test_pages_that_call_us_by_another_name_get_nothing(client, host, place):
    answer = client.get(place, headers={"host": host})
    assert answer.status_code == 400
    assert "Oodometer" not in answer.text


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:8765", "localhost:80"])
def test_this_machine_has_these_names(client, host):
    assert client.get("/", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"])
def test_there_is_nothing_to_change(client, method):
    run = run_at(client, "a")
    places = ["/", "/compare", run, f"{run}/report", f"{run}/sets/imagenet-c", "/static/style.css", "/playground"]
    for place in [*places, "/playground/picture", "/playground/prediction"]:
        assert client.request(method, place).status_code == 405
    if method != "POST":
        assert client.request(method, "/playground/uploads").status_code == 405
    assert client.get("/playground/uploads").status_code == 405


TRICKS = [
    "..",
    "../../../etc/passwd",
    "..%2f..%2f..%2fetc%2fpasswd",
    "%2e%2e/%2e%2e/etc/passwd",
    "%252e%252e%252fetc%252fpasswd",
    "..%5c..%5cetc%5cpasswd",
    "/etc/passwd",
    "%2fetc%2fpasswd",
    "a%00.png",
    "style.css%00",
    "style.css/../../app.py",
    "%ff%fe",
    "con:",
    "~root",
    "a" * 5000,
]


@pytest.mark.parametrize("trick", TRICKS)
def test_no_address_names_a_path(client, trick):
    run = run_at(client, "a")
    for place in (
        "/",
        "/static/",
        "/runs/",
        f"{run}/",
        f"{run}/sets/",
        f"{run}/sets/imagenet-c/pictures/",
        "/playground/",
    ):
        answer = client.get(f"{place}{trick}")
        assert answer.status_code in (404, 200)
        if answer.status_code == 200:  # what the client has tidied up to a page that there is
            assert answer.url.path in ("/", run, f"{run}/sets/imagenet-c", "/playground")
        assert "root:" not in answer.text


@pytest.mark.parametrize(
    "query", ["image=../val/0.png", "image=/etc/passwd", "image=%00", "image=u" + "0" * 32, "image=99"]
)
def test_no_query_names_a_path(client, query):
    for place in ("picture", "prediction"):
        answer = client.get(f"/playground/{place}?{query}&corruption=fog&severity=1", headers={"accept": "*/*"})
        assert answer.status_code == 400
        assert answer.json()["error"]


@pytest.mark.parametrize(
    "tail", ["fog/9", "fog/" + "9" * 5000, "fog/-1", "fog/1.0", "fog/../fog/1x", "%00/1", "frog/1"]
)
def test_a_run_has_no_other_pictures_than_those_of_its_conditions(ask, photographs, seen, tail):
    client = ask(seen["memory"][0], data=[str(photographs)])
    (source, *_) = re.findall(
        r'<img src="([^"]+)/fog/1"', client.get(f"{run_at(client)}/sets/imagenet-c?corruption=fog").text
    )
    assert client.get(f"{source}/fog/1").status_code == 200
    assert client.get(f"{source}/{tail}").status_code == 404


@pytest.mark.parametrize(
    "query",
    [
        {"severity": "nan"},
        {"severity": "inf"},
        {"severity": "-0.1"},
        {"severity": "5.1"},
        {"severity": "x"},
        {"severity": ""},
        {"severity": "9" * 10_000},
        {"corruption": "clean"},
        {"corruption": "../fog"},
        {"corruption": ""},
        {"image": "-1"},
        {"image": "6"},
        {"image": ""},
        {"image": "9" * 5000},
    ],
)
def test_what_cannot_be_played_with_is_refused(client, query):
    fine = {"image": "0", "corruption": "fog", "severity": "2.5"}
    assert client.get("/playground/picture", params=fine).status_code == 200
    answer = client.get("/playground/picture", params=fine | query, headers={"accept": "*/*"})
    assert answer.status_code == 400
    assert answer.json()["error"]


HEADERS = {
    "content-security-policy": r"default-src 'none'; img-src 'self' blob:; style-src 'self'; script-src 'self'; .*",
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "same-origin",
    "cache-control": "no-store",
}


@pytest.mark.parametrize("place", ["/", "/compare", "/playground", "/static/playground.js", "/nope", "/runs/x/report"])
def test_every_answer_is_guarded(client, place):
    answer = client.get(place)
    for name, value in HEADERS.items():
        assert re.fullmatch(value, answer.headers[name]), name
    assert not re.search(r"<script(?! src=\"/static/)|<style|\son\w+=|\sstyle=", answer.text)
    assert not re.search(r"(?:src|href|action)=\"(?!/)(?!#main)", answer.text)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF"])
def test_an_upload_is_played_with(client, kind):
    picture = photograph(3, (300, 280))
    token = client.post("/playground/uploads", content=encoded(picture, kind), headers=BYTES).json()["image"]
    query = {"image": token, "corruption": "contrast"}
    clean = pixels(client.get("/playground/picture", params=query | {"severity": "0"}))
    assert clean.shape == (224, 224, 3)
    found = pixels(client.get("/playground/picture", params=query | {"severity": "2.5"}))
    np.testing.assert_array_equal(found, oodometer.corrupt(clean, "contrast", 2.5))


def test_an_upload_stands_upright(client):
    picture = PIL.Image.new("RGB", (224, 224), "white")
    picture.paste("black", (0, 0, 224, 60))
    exif = PIL.Image.Exif()
    exif[0x0112] = 3  # upside down
    content = encoded(picture, "JPEG", exif=exif, quality=95)
    token = client.post("/playground/uploads", content=content, headers=BYTES).json()["image"]
    query = {"image": token, "corruption": "fog", "severity": "0"}
    clean = pixels(client.get("/playground/picture", params=query))
    assert clean[:50].min() > 200
    assert clean[-40:].max() < 50


SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><image href="file:///etc/passwd"/><script>alert(1)</script></svg>'
PLAIN = encoded(photograph(1))


NO_IMAGES = {
    "nothing": (b"", "the file is empty"),
    "text": (b"hello", "not an image"),
    "svg": (SVG, "not an image"),
    "postscript": (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "not an image"),
    "pdf": (b"%PDF-1.4", "not an image"),
    "truncated png": (PLAIN[:-30], "Cannot read the image"),
    "truncated jpeg": (encoded(photograph(1), "JPEG")[:-300], "Cannot read the image"),
    "truncated tiff": (encoded(photograph(1), "TIFF")[:200], "Cannot read the image"),
    "damaged": (PLAIN[:60] + bytes(40) + PLAIN[100:], "Cannot read the image"),
    "64 million pixels": (bomb(8000, 8000), "more than the 50,000,000"),
    "billions of pixels": (bomb(60_000, 60_000), "more than the 50,000,000"),
    "as many as there can be": (bomb(2**31 - 1, 2**31 - 1), "Cannot read the image"),
    "a strip": (encoded(PIL.Image.new("RGB", (1, 40_000))), "too narrow"),
}


@pytest.mark.parametrize("kind", NO_IMAGES)
def test_broken_and_hostile_uploads_are_refused_in_words(client, monkeypatch, kind):
    content, said = NO_IMAGES[kind]
    monkeypatch.setattr(PIL.Image, "MAX_IMAGE_PIXELS", None)  # our own bound holds without Pillow's
    answer = client.post("/playground/uploads", content=content, headers=BYTES | {"accept": "*/*"})
    assert answer.status_code == 422
    assert said in answer.json()["error"]


def test_huge_uploads_are_refused(client):
    answer = client.post("/playground/uploads", content=bytes(20_000_001), headers=BYTES | {"accept": "*/*"})
    assert answer.status_code == 413
    assert "20 MB" in answer.json()["error"]
    answer = client.post("/playground/uploads", content=bytes(20_000_000), headers=BYTES | {"accept": "*/*"})
    assert answer.status_code == 422  # as it is no image


def test_no_more_is_read_than_is_taken_whatever_an_upload_says_of_its_length():
    sent = []

    async def receive():
        sent.append(1)
        return {"type": "http.request", "body": bytes(1000), "more_body": True}  # without an end

    scope = {"type": "http", "method": "POST", "headers": [(b"content-length", b"7")]}
    with pytest.raises(HTTPException, match="413"):
        asyncio.run(_at_most(Request(scope, receive), 5500))
    assert len(sent) == 6


def test_an_upload_that_does_not_end_keeps_no_other_waiting(two_runs):
    app, begun, sent = make_app(two_runs), asyncio.Event(), []
    headers = [(b"host", b"localhost"), (b"content-type", b"application/octet-stream")]
    scope = {"type": "http", "method": "POST", "path": "/playground/uploads", "query_string": b"", "headers": headers}

    async def stuck():
        begun.set()
        await asyncio.Event().wait()

    async def whole():
        return {"type": "http.request", "body": encoded(photograph(1)), "more_body": False}

    async def keep(message):
        sent.append(message)

    async def both():
        first = asyncio.create_task(app(dict(scope), stuck, keep))
        await begun.wait()
        await asyncio.wait_for(app(dict(scope), whole, keep), timeout=60)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)

    asyncio.run(both())
    assert [message["status"] for message in sent if message["type"] == "http.response.start"] == [200]


@pytest.mark.parametrize(
    "kind", ["multipart/form-data; boundary=x", "application/x-www-form-urlencoded", "text/plain", "image/png", None]
)
def test_uploads_that_a_page_elsewhere_could_send_are_refused(client, kind):
    answer = client.post("/playground/uploads", content=PLAIN, headers={} if kind is None else {"content-type": kind})
    assert answer.status_code == 415


def test_few_uploads_are_kept_and_nothing_is_written(client, two_runs, tmp_path):
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    tokens = [
        client.post("/playground/uploads", content=encoded(photograph(k)), headers=BYTES).json()["image"]
        for k in range(playground._UPLOADS + 2)
    ]
    run = run_at(client, "a")
    for place in ("/", run, f"{run}/report", f"{run}/sets/imagenet-c", "/playground"):
        assert client.get(place).status_code == 200
    kept = [
        client.get("/playground/picture", params={"image": token, "corruption": "fog", "severity": "1"}).status_code
        for token in tokens
    ]
    assert kept == [400] * 2 + [200] * playground._UPLOADS
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


@pytest.mark.parametrize("name", GROUPS["all"])
def test_every_corruption_can_be_played_with_between_its_severities(client, frost, name):
    query = {"image": "1", "corruption": name}
    clean = pixels(client.get("/playground/picture", params=query | {"severity": "0"}))
    text = client.get("/playground", params={"image": "1"}).text
    (image,) = re.findall(r'data-image="1"[^>]*>\s*<img src="[^"]+" alt="([^"]+)"', text)
    for severity in (0.3, 2.7, 5.0):
        found = pixels(client.get("/playground/picture", params=query | {"severity": str(severity)}))
        np.testing.assert_array_equal(found, oodometer.corrupt(clean, name, severity, image_id=image))
    assert (found != clean).any()


def test_the_model_says_what_show_says(ask, two_runs, photographs):
    client = ask(two_runs, data=[str(photographs)], model="fake")
    image = sorted(photographs.rglob("*.png"))[2]
    grid = oodometer.show(image, corruptions="contrast", severities=[2.5], model="fake")
    query = {"image": "2", "corruption": "contrast", "severity": "2.5"}
    said = client.get("/playground/prediction", params=query).json()
    cell = grid.cells[0][0]
    assert (said["best"], said["confidence"]) == (cell.prediction, pytest.approx(cell.confidence))
    assert len(said["others"]) == 4


def test_without_a_model_nothing_is_said(client):
    answer = client.get("/playground/prediction?image=0&corruption=fog&severity=1", headers={"accept": "*/*"})
    assert "--model" in answer.json()["error"]


def test_models_that_do_not_fit_are_refused_at_the_start(two_runs):
    with pytest.raises(ModelError, match="7 outputs"):
        make_app(two_runs, model=oodometer.FakeModel(7))


def test_without_images_one_can_still_upload(ask, two_runs, monkeypatch):
    def missing():
        raise MissingDataError("no photographs")

    monkeypatch.setattr(playground, "demo_photographs", missing)
    text = ask(two_runs).get("/playground").text
    assert "no images to pick from" in text
    assert 'type="file"' in text


def test_the_photographs_of_the_demo_are_there_to_pick_from(ask, two_runs):
    names = re.findall(r'alt="(imagenet_\d\d_\d+\.jpg)"', ask(two_runs).get("/playground").text)
    assert names == [sample.id for sample in demo_photographs().samples[:12]]


def test_warming_up_goes_through_all_and_stops_when_told_to(monkeypatch):
    stop, warmed = threading.Event(), []

    def corrupt(image, name, severity):
        warmed.append((name, severity))
        if len(warmed) == 25:
            stop.set()
        if name == "frost":
            raise MissingDataError("no textures")
        return image

    monkeypatch.setattr(playground, "corrupt", corrupt)
    Playground([]).warm_up(stop)
    assert warmed == [(name, severity) for name in REGISTRY for severity in (2.5, 0.1)][:25]


def test_a_folder_that_is_not_there_is_an_error(tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(["view", str(tmp_path / "none")])
    assert ended.value.code == 2
    assert "There is no folder" in capsys.readouterr().err


def test_a_port_that_is_taken_is_said_to_be(two_runs, capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(SystemExit) as ended:
            cli.main(["view", str(two_runs), "--port", str(taken.getsockname()[1])])
    assert ended.value.code == 2
    assert "is taken by another program" in capsys.readouterr().err


def test_a_missing_package_is_named(two_runs, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(SystemExit):
        cli.main(["view", str(two_runs)])
    assert "pip install 'oodometer[view]'" in capsys.readouterr().err


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_the_command_serves_this_machine_until_it_is_stopped(two_runs, stop):
    """As a process of its own, asked over a real socket, with addresses that clients would tidy up."""
    # Where the tests themselves run in the background, the shell has told all of them to ignore a Ctrl-C.
    script = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    script += "from oodometer.cli import main; main(sys.argv[1:])"
    command = [sys.executable, "-u", "-c", script, "view", str(two_runs), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            address = re.match(r"http://127\.0\.0\.1:(\d+)/", process.stdout.readline())
            with urllib.request.urlopen(address[0], timeout=60) as answer:
                assert "deep/b" in answer.read().decode()
            for target in (
                "/static/../app.py",
                "/../../etc/passwd",
                "/static/%2e%2e/app.py",
                "/runs/..%00",
                "//etc/passwd",
            ):
                assert raw(int(address[1]), f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").split()[1] == "404"
            assert raw(int(address[1]), "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n").split()[1] == "400"
            with pytest.raises(ConnectionRefusedError):  # where what listens to all addresses would answer
                socket.create_connection(("127.0.0.2", int(address[1])), timeout=5)
        finally:
            process.send_signal(stop)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.strip() == "Stopped."
    assert out == ""


def raw(port, request):
    """Send a request to the letter; return the beginning of the answer."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(request.encode())
        return connection.recv(500).decode()

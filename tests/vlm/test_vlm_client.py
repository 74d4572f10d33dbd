"""One question over HTTP: every mood of an endpoint is an answer, another try, or an error that says what to do."""

import json
import socket
import threading
from email.utils import formatdate

import pytest
from endpoint import completion

from oodometer.errors import ModelError
from oodometer.models.vlm import client as client_module
from oodometer.models.vlm.client import Client, Pace, Reply

BODY = {"model": "m", "messages": []}


class Impatient(threading.Event):
    """Waits no longer than to be seen waiting, and knows for how long it would have been."""

    def __init__(self):
        super().__init__()
        self.waits = []

    def wait(self, timeout=None):
        self.waits += [timeout] if timeout else []
        return super().wait(0)


@pytest.fixture
def stopped():
    return Impatient()


@pytest.fixture
def waits(stopped):
    """Tell how long there was to wait."""
    return stopped.waits


@pytest.fixture
def ask(stopped):
    """Return a function that puts one question to an endpoint, or to an address."""

    def put(endpoint, pace=None):
        url = endpoint if isinstance(endpoint, str) else endpoint.url
        return Client(url, "m", 4, pace or Pace(None)).ask(BODY, stopped)

    return put


def after(*answers):
    """Give one answer after the other."""
    left = iter(answers)
    return lambda request: next(left)


def test_the_question_arrives_as_it_was_put(ask, serve):
    endpoint = serve(lambda request: "an owl")
    assert ask(endpoint) == Reply("an owl", "stop")
    (request,) = endpoint.requests
    assert request.path == "/v1/chat/completions"
    assert request.body == BODY
    assert "Authorization" not in request.headers


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_what_passes_is_tried_again(ask, serve, waits, status):
    endpoint = serve(after((status, {}, b"busy"), (status, {}, b"<html>"), "owl"))
    assert ask(endpoint).text == "owl"
    assert waits == [1, 2]


def test_the_server_says_how_long_to_wait(ask, serve, waits):
    soon = formatdate(0, usegmt=True)  # a moment that is past
    endpoint = serve(after((429, {"Retry-After": "7"}, b""), (503, {"Retry-After": soon}, b""), "owl"))
    assert ask(endpoint).text == "owl"
    assert waits == [7]


def test_a_server_that_asks_for_too_long_is_left(ask, serve, waits):
    endpoint = serve(lambda request: (429, {"Retry-After": "7200"}, b""))
    with pytest.raises(ModelError, match=r"left alone for 7200 s.*the same command continues"):
        ask(endpoint)
    assert len(endpoint.requests) == 1


def test_trouble_without_end_is_an_error(ask, serve, waits):
    endpoint = serve(lambda request: (500, {}, json.dumps({"error": {"message": "no\nmemory"}}).encode()))
    with pytest.raises(ModelError, match=r"500 .*no memory, 8 times in a row"):
        ask(endpoint)
    assert len(endpoint.requests) == 8
    assert waits == [1, 2, 4, 8, 16, 32, 60]


@pytest.mark.parametrize(
    "said",
    [
        (200, {}, b"{"),
        (200, {}, b"\xff\xfe"),
        (200, {}, b"[" * 100_000),
        (200, {}, b"null"),
        (200, {}, b'"choices"'),
        {"choices": []},
        {"choices": [{}]},
        {"choices": [{"message": None}]},
        {"choices": [{"message": {"content": 5}}]},
        {"choices": [{"message": {"content": ["owl"]}}]},
        {"error": {"message": "overloaded"}},
    ],
)
def test_what_is_no_completion_is_asked_for_again_and_then_an_error(ask, serve, said):
    assert ask(serve(after(said, said, "owl"))).text == "owl"
    with pytest.raises(ModelError, match="what came is no"):
        ask(serve(lambda request: said))


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (completion(""), ""),
        (completion(None, "content_filter"), ""),
        (completion([{"type": "text", "text": "an "}, {"type": "text", "text": "owl"}]), "an owl"),
        ({"choices": [{"message": {"role": "assistant"}}]}, ""),
        ({"choices": [{"message": {"content": None, "refusal": "I cannot."}}]}, ""),
        (completion("half a character \ud800"), "half a character ?"),
        ((400, {}, b'{"error": {"code": "content_filter", "message": "no"}}'), ""),
    ],
)
def test_an_odd_answer_is_an_answer(ask, serve, said, text):
    endpoint = serve(lambda request: said)
    assert ask(endpoint).text == text
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize(
    ("status", "body", "message"),
    [
        (401, {"error": {"message": "bad key"}}, r"401 .*bad key.*OPENAI_API_KEY, which is not set"),
        (403, {}, r"403 .*OPENAI_API_KEY"),
        (404, {"detail": "no model m"}, r"404 .*no model m\. Is 'm' the model's name there.*/v1\?"),
        (400, {"error": "the context is too short"}, r"400 .*the context is too short\."),
        (400, [], r"says 400 Bad Request\."),
        (413, {"message": "too large"}, r"413 .*too large"),
        (429, {"error": {"code": "insufficient_quota", "message": "pay"}}, r"429 .*pay\."),
    ],
)
def test_a_refusal_is_an_error_at_once(ask, serve, status, body, message):
    endpoint = serve(lambda request: (status, {}, json.dumps(body).encode()))
    with pytest.raises(ModelError, match=message):
        ask(endpoint)
    assert len(endpoint.requests) == 1


def test_a_key_goes_into_the_header_and_nowhere_else(ask, serve, monkeypatch, tmp_path):
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password other\n")
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("OPENAI_API_KEY", " sk-secret\n")
    endpoint = serve(lambda request: (401, {}, b'{"error": {"message": "Incorrect key sk-secret"}}'))
    with pytest.raises(ModelError, match=r"Incorrect key \(key\)\. The key .* is set") as error:
        ask(endpoint)
    assert "sk-secret" not in str(error.value)
    assert endpoint.requests[0].headers["Authorization"] == "Bearer sk-secret"


def test_a_key_that_is_none_is_not_repeated(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-\nsecret")
    with pytest.raises(ModelError, match="OPENAI_API_KEY") as error:
        Client("http://127.0.0.1:9", "m", 1, Pace(None))
    assert "secret" not in str(error.value)


def test_nobody_is_led_elsewhere(ask, serve):
    other = serve(lambda request: "owl")
    endpoint = serve(lambda request: (307, {"Location": f"{other.url}/chat/completions"}, b""))
    with pytest.raises(ModelError, match=r"307 .*It sends elsewhere"):
        ask(endpoint)
    assert not other.requests


def test_a_host_that_cannot_be_reached_is_an_error_soon(ask, waits):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(ModelError, match=r"no answer \(.*refused.*\), 3 times in a row"):
        ask(f"http://127.0.0.1:{port}/v1")
    assert waits == [1, 2]


def test_a_host_that_has_answered_is_given_more_time(serve, monkeypatch, stopped):
    monkeypatch.setattr(client_module, "TIMEOUT", (1, 0.05))
    late = threading.Lock()
    late.acquire()
    endpoint = serve(lambda request: "first" if len(endpoint.requests) == 1 else str(late.acquire(timeout=5)))
    client = Client(endpoint.url, "m", 4, Pace(None))
    assert client.ask(BODY, stopped).text == "first"
    with pytest.raises(ModelError, match=r"no answer .*8 times in a row"):
        client.ask(BODY, stopped)


def test_a_connection_that_is_not_safe_is_no_passing_trouble(ask, serve, waits):
    with pytest.raises(ModelError, match="no safe connection"):
        ask(serve(lambda request: "owl").url.replace("http:", "https:"))
    assert not waits


def test_what_waits_can_be_stopped(serve, stopped):
    endpoint = serve(lambda request: (500, {}, b""))
    stopped.set()
    with pytest.raises(ModelError, match="stopped"):
        Client(endpoint.url, "m", 4, Pace(None)).ask(BODY, stopped)
    assert not endpoint.requests


def test_the_pace_is_kept_by_all_threads_together():
    """Thirty a minute are two seconds apart, whoever asks and whenever; a turn that was not taken is not saved up."""
    now = [100.0]
    pace = Pace(30, clock=lambda: now[0])
    assert [pace.turn() for _ in range(3)] == [0, 2, 4]
    now[0] = 103.0
    assert pace.turn() == 3
    now[0] = 1000.0
    assert [pace.turn() for _ in range(2)] == [0, 2]
    assert Pace(None).turn() == 0


def test_another_try_takes_a_turn_too(ask, serve, waits):
    now = [0.0]
    endpoint = serve(after((500, {}, b""), "owl"))
    assert ask(endpoint, pace=Pace(6, clock=lambda: now[0])).text == "owl"
    assert waits == [1, 10]

"""One question over HTTP, asked until it is answered or refused: an OpenAI-compatible endpoint and its moods."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import requests
import urllib3
import urllib3.exceptions

from oodometer import __version__
from oodometer.errors import ModelError

__all__ = ["KEY", "Client", "Pace", "Reply"]

KEY = "OPENAI_API_KEY"
"""The environment variable that holds the key; nothing else is asked for one, and nothing keeps it."""

TRIES = 8
"""How often a question is put in a row before the run gives up on it: for two minutes, twice what limits count in."""

TRIES_UNREACHED = 3
"""The same where no question has met an answer yet: then the address is wrong more often than the server is busy."""

FIRST_WAIT = 1.0
LONGEST_BACKOFF = 60.0
"""Seconds before the second try, doubled before each further one up to the longest."""

LONGEST_WAIT = 600.0
"""Seconds that a server may ask us to wait; one that asks for more is left, and says so."""

TIMEOUT = (10, 180)  # seconds to connect, and for an answer
PASSING = {408, 409, 425, 429, 500, 502, 503, 504, 529}  # what another try may not meet
FILTERED = {"content_filter", "content_policy_violation"}  # what endpoints call a picture that they will not look at


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back: the text, empty if there was none, and why the model stopped, such as ``"stop"``."""

    text: str
    finish: str


class Pace:
    """Lets no more than so many requests go in a minute, evenly; may be used from several threads.

    Parameters
    ----------
    per_minute
        How many; ``None`` for any number.
    clock
        What tells the time in seconds.
    """

    def __init__(self, per_minute: int | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._between = 0.0 if per_minute is None else 60 / per_minute
        self._clock, self._lock, self._next = clock, threading.Lock(), float("-inf")

    def turn(self) -> float:
        """Take the next turn, and return in how many seconds it is."""
        with self._lock:
            now = self._clock()
            mine = max(now, self._next)
            self._next = mine + self._between
            return mine - now


class _PassingError(Exception):
    """Trouble that another try may not meet; ``wait`` is how many seconds the server asked for, if it did."""

    def __init__(self, reason: str, wait: float | None = None) -> None:
        super().__init__(reason)
        self.wait = wait


class _Bearer(requests.auth.AuthBase):
    """The key as a header; an ``auth`` of its own, since requests would let a ``.netrc`` replace the header."""

    def __init__(self, key: str) -> None:
        self._key = key

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["Authorization"] = f"Bearer {self._key}"
        return request


class Client:
    """Puts questions to one endpoint, from several threads.

    Parameters
    ----------
    base
        The address before ``/chat/completions``.
    model
        The name of the model there, for messages.
    connections
        How many threads ask at once.
    pace
        How many requests go in a minute.

    Raises
    ------
    ModelError
        If the key in the environment is none.
    """

    def __init__(self, base: str, model: str, connections: int, pace: Pace) -> None:
        self._url, self._model, self._pace = f"{base}/chat/completions", model, pace
        self._reached = False
        self._key = os.environ.get(KEY, "").strip()
        if not re.fullmatch(r"[!-~]*", self._key):
            raise ModelError(f"The key in {KEY} holds blanks or characters that no key has. Set it again.")
        self._session = requests.Session()
        self._session.headers["User-Agent"] = f"oodometer/{__version__}"
        self._session.auth = _Bearer(self._key) if self._key else None
        adapter = requests.adapters.HTTPAdapter(pool_connections=1, pool_maxsize=connections)
        self._session.mount(f"{urlsplit(base).scheme}://", adapter)

    def ask(self, body: dict[str, Any], stopped: threading.Event) -> Reply:
        """Put one question, again where another try may help.

        Parameters
        ----------
        body
            The request.
        stopped
            Set from elsewhere, it ends all waiting; a request that is under way ends as it does.

        Raises
        ------
        ModelError
            If the endpoint refuses, or fails ``TRIES`` times in a row.
        """
        for tried in range(1, TRIES + 1):
            self._wait(self._pace.turn(), stopped)
            try:
                return self._attempt(body)
            except _PassingError as trouble:
                wait = min(FIRST_WAIT * 2 ** (tried - 1), LONGEST_BACKOFF) if trouble.wait is None else trouble.wait
                reason = str(trouble)
            if wait > LONGEST_WAIT:
                raise self._failed(f"{reason}, and it asks to be left alone for {wait:.0f} s")
            if tried >= (TRIES if self._reached else TRIES_UNREACHED):
                break
            self._wait(wait, stopped)
        raise self._failed(f"{reason}, {tried} times in a row")

    @staticmethod
    def _wait(seconds: float, stopped: threading.Event) -> None:
        if stopped.wait(seconds):
            raise ModelError("The evaluation was stopped.")

    def _attempt(self, body: dict[str, Any]) -> Reply:
        try:
            # Not redirected: a POST would become a GET, and a key go elsewhere.
            response = self._session.post(self._url, json=body, timeout=TIMEOUT, allow_redirects=False)
        except requests.exceptions.SSLError as error:
            raise self._failed(f"no safe connection ({_root(error)})") from error
        except (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError) as error:
            raise _PassingError(f"no answer ({_root(error)})") from error
        except (requests.RequestException, ValueError) as error:
            raise self._failed(str(error).rstrip(".")) from error
        self._reached = True
        if response.status_code == 200:
            return _reply(_decoded(response))
        return self._refused(response)

    def _refused(self, response: requests.Response) -> Reply:
        """Say what a status means; a picture that a filter holds back is an answer without a text."""
        found = _complaint(response)
        if response.status_code == 400 and found.code in FILTERED:
            return Reply("", found.code)
        reason = f"it says {response.status_code} {response.reason or ''}".rstrip()
        if found.message:
            reason += f": {found.message}"
        if response.status_code in PASSING and found.code != "insufficient_quota":
            raise _PassingError(reason, _asked_to_wait(response))
        raise self._failed(f"{reason.rstrip('.')}{self._hint(response)}")

    def _hint(self, response: requests.Response) -> str:
        if response.status_code in (401, 403):
            return f". The key is taken from {KEY}, which is {'set' if self._key else 'not set'}"
        if response.status_code in (404, 405):
            return (
                f". Is {self._model!r} the model's name there, and the address the one before /chat/completions, such "
                "as http://localhost:8000/v1?"
            )
        if response.is_redirect:
            return f". It sends elsewhere, to {response.headers['Location']}; give that address, if you trust it"
        return ""

    def _failed(self, reason: str) -> ModelError:
        # An endpoint may quote the key that it was given.
        said = reason.replace(self._key, "(key)") if self._key else reason
        end = "" if said.endswith("?") else "."
        return ModelError(
            f"{self._url} gives no answer of {self._model!r}: {said}{end} Answers that have come are kept in the run's "
            "folder; the same command continues."
        )


@dataclass(frozen=True, slots=True)
class _Complaint:
    message: str
    code: str


def _complaint(response: requests.Response) -> _Complaint:
    """Read what an endpoint says of its refusal, in the form of OpenAI's or of others'; empty if nothing."""
    try:
        said = response.json()
    except (ValueError, RecursionError):
        return _Complaint("", "")
    error = said.get("error", said) if isinstance(said, dict) else {}
    if not isinstance(error, dict):
        return _Complaint(_line(error), "")
    message = error.get("message") or error.get("detail") or ""
    return _Complaint(_line(message), str(error.get("code") or error.get("type") or ""))


def _line(text: object) -> str:
    """Keep the beginning of what a server says, on one line."""
    return " ".join(str(text).split())[:300]


def _asked_to_wait(response: requests.Response) -> float | None:
    try:
        return urllib3.Retry().get_retry_after(response.raw)
    except urllib3.exceptions.InvalidHeader:
        return None


def _decoded(response: requests.Response) -> Any:  # noqa: ANN401 - it may be anything
    try:
        return response.json()
    except (ValueError, RecursionError) as error:
        raise _PassingError(f"what came is no JSON ({_line(response.text[:80])!r})") from error


def _reply(said: Any) -> Reply:  # noqa: ANN401 - it may be anything
    """Read the first choice of a completion; a refusal, and a choice without a text, is an empty answer."""
    try:
        choice = said["choices"][0]
        content = choice["message"].get("content")
        if isinstance(content, list):  # of parts, of which some endpoints make their texts
            content = "".join(part["text"] for part in content if part["type"] == "text")
        return Reply(_whole(content or ""), _whole(str(choice.get("finish_reason") or "")))
    except (LookupError, TypeError, AttributeError) as error:
        raise _PassingError(f"what came is no completion ({_line(said)[:80]!r})") from error


def _whole(text: str) -> str:
    """Replace halves of characters, which JSON can hold and UTF-8 cannot."""
    return text.encode("utf-8", "replace").decode()


def _root(error: BaseException) -> str:
    """Return what lies at the bottom of an error of urllib3's: it wraps the system's words several times over."""
    while error.__cause__ or error.__context__:
        error = error.__cause__ or error.__context__ or error
    return str(error) or type(error).__name__

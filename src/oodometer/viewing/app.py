"""The routes of the live page: what can be asked for, and how it is answered or refused.

Addresses hold tokens that are looked up, and never a path or a name from outside. Nothing is written, and nothing is
changed but the uploads that the playground holds in memory. Pages load scripts and styles from here alone.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import functools
import hashlib
import math
import os
import re
import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from oodometer.errors import ArgumentError, OodometerError
from oodometer.models import ModelOptions
from oodometer.report.facts import facts
from oodometer.report.headlines import headlines
from oodometer.report.html import page_html
from oodometer.reports import report_page
from oodometer.run import Run
from oodometer.showing import Asker
from oodometer.types import Condition
from oodometer.viewing.folder import TITLES, Runs, Viewed
from oodometer.viewing.outcomes import Outcomes, Wanted
from oodometer.viewing.pages import STATIC, page
from oodometer.viewing.pictures import Given, Remade, other_versions
from oodometer.viewing.playground import MOST_BYTES, Playground, png

__all__ = ["make_app"]

_HOSTS = ["127.0.0.1", "localhost"]
"""What this machine may be called; a page elsewhere that gives its own name our address is none of them."""

_POLICY = (
    "default-src 'none'; img-src 'self' blob:; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

_PER_PAGE, _PICKS = 24, 12

_KEPT = 8
"""How many reports, and sets of images that belong to a run, are held ready."""

_NUMBER = re.compile(r"[0-9]{1,9}")


def make_app(
    root: str | os.PathLike[str],
    *,
    data: Sequence[str] = (),
    labels: str | Path | None = None,
    model: object = None,
    model_options: ModelOptions | None = None,
) -> Starlette:
    """Make the app, as ``serve`` explains it."""
    runs, given = Runs(root), Given(data, labels)
    playground = Playground(given.clean, None if model is None else Asker(model, model_options))
    views, play = _Views(runs, given, playground), _Play(playground)
    of_set = "/runs/{run}/sets/{set}"
    return Starlette(
        routes=[
            Route("/", views.index),
            Route("/compare", views.compare),
            Route("/runs/{run}", views.run),
            Route("/runs/{run}/report", views.report),
            Route(of_set, views.outcomes),
            Route(f"{of_set}/pictures/{{image}}/{{corruption}}/{{severity}}", views.picture),
            Route(f"{of_set}/examples/{{image}}/{{corruption}}/{{severity}}", views.example),
            Route("/playground", play.page),
            Route("/playground/picture", play.picture),
            Route("/playground/prediction", play.prediction),
            Route("/playground/uploads", play.upload, methods=["POST"]),
            Route("/static/{name}", _static),
        ],
        middleware=[Middleware(_Guarded), Middleware(TrustedHostMiddleware, allowed_hosts=_HOSTS)],
        exception_handlers={HTTPException: _refused, OodometerError: _cannot},
        lifespan=lambda _: _warm(playground),
    )


class _Views:
    """The pages about runs."""

    def __init__(self, runs: Runs, given: Given, playground: Playground) -> None:
        self._runs, self._given, self._playground = runs, given, playground
        self._images = functools.lru_cache(maxsize=_KEPT)(self._found_images)
        self._report = functools.lru_cache(maxsize=_KEPT)(lambda run: page_html(run.summary()))

    def index(self, _: Request) -> Response:
        listed = [run.listed() for run in self._runs.find().values()]
        return page("index.html", root=str(self._runs.root), listed=listed, titles=TITLES)

    def compare(self, request: Request) -> Response:
        there = self._runs.find()
        tokens = request.query_params.getlist("run")
        if unknown := [token for token in tokens if token not in there]:
            raise HTTPException(404, f"There is no run {unknown[0]!r} here.")
        chosen = [there[token] for token in dict.fromkeys(tokens)]
        try:
            if len(chosen) < 2:
                raise ArgumentError("A comparison needs at least two runs.")
            return _styled(report_page([Run(run.store.path) for run in chosen]))
        except OodometerError as error:
            return page("refused.html", chosen=chosen, reason=str(error))

    def run(self, request: Request) -> Response:
        run = self._run(request)
        if run.sequences:
            return page("sequences.html", run=run, table=run.table())
        summary = run.summary()
        return page(
            "run.html",
            run=run,
            summary=summary,
            headlines=headlines(summary),
            facts=facts(summary),
            sets=[record.name for record in run.records()],
        )

    def report(self, request: Request) -> Response:
        return _styled(self._report(self._run(request)))

    def outcomes(self, request: Request) -> Response:
        run, found = self._set(request)
        query = request.query_params
        wanted = Wanted(
            label=_whole(query.get("class"), "class"),
            corruption=query.get("corruption") or None,
            severity=_whole(query.get("severity"), "severity"),
            outcome=query.get("outcome") or None,
            image=query.get("image") or None,
        )
        places = found.find(wanted)
        number, last = _page_number(query.get("page"), len(places), _PER_PAGE)
        shown = places[(number - 1) * _PER_PAGE : number * _PER_PAGE]
        remade = self._images(run, found.record.name)
        rows = [found.at(int(row), int(column)) for row, column in shown]
        return page(
            "outcomes.html",
            run=run,
            found=found,
            sets=[record.name for record in run.records()],
            wanted=wanted,
            rows=rows,
            count=len(places),
            number=number,
            last=last,
            query={key: value for key, value in query.items() if value and key != "page"},
            one=None if wanted.image is None else found.image(wanted.image),
            remade=remade is not None,
            given=bool(self._given),
            versions=other_versions(run.manifest()) if remade else "",
            plays={} if remade is None else self._plays(remade, [row.image for row in rows]),
        )

    def picture(self, request: Request) -> Response:
        run, found, image, condition = self._cell(request)
        remade = self._images(run, found.record.name)
        if remade is None:
            raise HTTPException(404, "The images of this run were not given.")
        return Response(png(remade.picture(image, condition)), media_type="image/png")

    def example(self, request: Request) -> Response:
        _, found, _, condition = self._cell(request)
        jpeg = found.example(request.path_params["image"], condition)
        if jpeg is None:
            raise HTTPException(404, "The run keeps no such picture.")
        return Response(jpeg, media_type="image/jpeg")

    def _run(self, request: Request) -> Viewed:
        run = self._runs.get(request.path_params["run"])
        if run is None:
            raise HTTPException(404, "There is no such run here.")
        return run

    def _set(self, request: Request) -> tuple[Viewed, Outcomes]:
        run, name = self._run(request), request.path_params["set"]
        if name not in {record.name for record in run.records()}:
            raise HTTPException(404, "The run has no such set of images.")
        return run, run.outcomes(name)

    def _cell(self, request: Request) -> tuple[Viewed, Outcomes, str, Condition]:
        """Look up the image and the condition that an address names."""
        run, found = self._set(request)
        of = request.path_params
        image = found.image(of["image"])
        named = (c for c in found.conditions if (c.corruption, str(c.severity)) == (of["corruption"], of["severity"]))
        condition = next(named, None)
        if image is None or condition is None:
            raise HTTPException(404, "The run has no such picture.")
        return run, found, image, condition

    def _found_images(self, run: Viewed, name: str) -> Remade | None:
        return self._given.images_of(run.outcomes(name).record)

    def _plays(self, remade: Remade, images: Sequence[str]) -> dict[str, str | None]:
        """Return the tokens by which the playground knows images."""
        return {image: self._playground.token_of(remade.dataset, image) for image in images}


class _Play:
    """The image to play with."""

    def __init__(self, playground: Playground) -> None:
        self._playground = playground
        self._uploading = asyncio.Lock()

    def page(self, request: Request) -> Response:
        query, ground = request.query_params, self._playground
        number, last = _page_number(query.get("page"), ground.count, _PICKS)
        offered = ground.offer((number - 1) * _PICKS, number * _PICKS)
        token = query.get("image")
        chosen = ground.picked(token) if token else next(iter(offered), None)
        return page(
            "playground.html",
            offered=offered,
            chosen=chosen,
            number=number,
            last=last,
            corruption=query.get("corruption") or "fog",
            severity=_severity(query.get("severity", "3")),
            asks=ground.asks,
            most_bytes=MOST_BYTES,
        )

    def picture(self, request: Request) -> Response:
        return Response(png(self._playground.picture(*_played(request))), media_type="image/png")

    def prediction(self, request: Request) -> Response:
        return JSONResponse(asdict(self._playground.say(*_played(request))))

    async def upload(self, request: Request) -> Response:
        """Take the bytes of a file as they are, declared as what no page elsewhere may send without asking."""
        if request.headers.get("content-type") != "application/octet-stream":
            raise HTTPException(415, "An upload is the bytes of a file, as application/octet-stream.")
        content = await _at_most(request, MOST_BYTES)
        async with self._uploading:  # one at a time: a picture at the bound takes some hundred megabytes
            token = await run_in_threadpool(self._playground.upload, content)
        return JSONResponse({"image": token})


async def _at_most(request: Request, most: int) -> bytes:
    """Read what was sent, as long as it is not too much; what it says of its own length is not believed."""
    content = bytearray()
    async for piece in request.stream():
        content += piece
        if len(content) > most:
            raise HTTPException(413, f"The file is larger than {most // 10**6} MB.")
    return bytes(content)


def _played(request: Request) -> tuple[str, str, float]:
    query = request.query_params
    return query.get("image", ""), query.get("corruption", ""), _severity(query.get("severity", ""))


def _severity(text: str) -> float:
    try:
        return float(text[:20])
    except ValueError:
        raise ArgumentError(f"The severity must be a number, not {text[:20]!r}.") from None


def _whole(text: str | None, name: str) -> int | None:
    """Read a number of an address; ``None`` if it is not there or empty."""
    if not text:
        return None
    if not _NUMBER.fullmatch(text):
        raise ArgumentError(f"The {name} must be a whole number, not {text[:20]!r}.")
    return int(text)


def _page_number(text: str | None, count: int, each: int) -> tuple[int, int]:
    """Read which page of so many things is asked for; returns it, and the last one."""
    number, last = _whole(text, "page") or 1, max(1, math.ceil(count / each))
    if number > last:
        raise HTTPException(404, f"There is no page {number}; the last one is {last}.")
    return number, last


def _static(request: Request) -> Response:
    content = STATIC.get(request.path_params["name"])
    if content is None:
        raise HTTPException(404, "There is no such file.")
    return Response(content.text, media_type=content.media_type)


def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _message(request, error.status_code, error.detail, error.headers)


def _cannot(request: Request, error: Exception) -> Response:
    return _message(request, 400 if isinstance(error, ArgumentError) else 422, str(error))


def _message(request: Request, status: int, text: str, headers: Mapping[str, str] | None = None) -> Response:
    """Say what is wrong: as a page to who looks at pages, and else as JSON."""
    if "text/html" in request.headers.get("accept", ""):
        return page("message.html", status=status, headers=headers, text=text)
    return JSONResponse({"error": text}, status, headers)


def _styled(text: str) -> Response:
    """Answer with a report, which has its styles and its script within itself."""
    return HTMLResponse(text, headers={"content-security-policy": _policy_of(text)})


def _policy_of(text: str) -> str:
    """Return the policy of a page that has its scripts within itself: these run, and nothing else does.

    It may not speak with anybody, this server included.
    """
    scripts = re.findall(r"<script\b[^>]*>(.*?)</script>", text, re.DOTALL | re.IGNORECASE)
    digests = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests) or "'none'"
    return (
        f"default-src 'none'; img-src data: blob:; font-src data:; style-src 'unsafe-inline'; script-src {allowed}; "
        "form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
    )


class _Guarded:
    """Gives every answer the headers by which a browser holds a page to what it is."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.setdefault("content-security-policy", _POLICY)
                headers["x-content-type-options"] = "nosniff"
                headers["cross-origin-resource-policy"] = "same-origin"
                headers["referrer-policy"] = "same-origin"
                headers["cache-control"] = "no-store"  # runs grow, and a page is to say what is there now
            await send(message)

        await self._app(scope, receive, guarded)


@contextlib.asynccontextmanager
async def _warm(playground: Playground) -> AsyncIterator[None]:
    """Load the kernels beside the first requests; stop at the next one when the page is stopped."""
    stop = threading.Event()
    loading = threading.Thread(target=playground.warm_up, args=(stop,))
    loading.start()
    yield
    stop.set()
    await run_in_threadpool(loading.join)

"""Vision-language models behind an OpenAI-compatible endpoint: a picture and a question go out, a class comes back."""

from __future__ import annotations

from urllib.parse import SplitResult, urlsplit

from oodometer.errors import ModelError
from oodometer.models.options import ModelOptions
from oodometer.models.vlm.client import KEY, Client, Pace
from oodometer.models.vlm.model import VisionLanguageModel

__all__ = ["OPTIONS", "load"]

OPTIONS = frozenset({"candidates", "requests", "per_minute"})

_FORM = "vlm:URL#MODEL, such as vlm:http://localhost:8000/v1#org/name"


def load(spec: str, options: ModelOptions) -> VisionLanguageModel:
    """Return the model behind an endpoint, which is not asked anything yet.

    Parameters
    ----------
    spec
        ``URL#MODEL``: the address before ``/chat/completions``, and the name of the model there. The key, if one is
        needed, is taken from the environment variable ``OPENAI_API_KEY``.
    options
        ``candidates``, ``requests`` and ``per_minute``.

    Raises
    ------
    ModelError
        If that is no address, or lacks the model.
    """
    url, _, model = spec.partition("#")
    parts = _checked(url)
    if not model.strip():
        raise ModelError(f"Which model, {parts.hostname} must be told: {_FORM}.")
    base = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/').removesuffix('/chat/completions')}"
    client = Client(base, model, options.requests, Pace(options.per_minute))
    return VisionLanguageModel(client, model, str(parts.hostname), options)


def _checked(url: str) -> SplitResult:
    """Take an address apart; one that holds a secret is refused without repeating it, since commands are recorded."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ModelError(f"That is no address: {error}. It is written {_FORM}.") from error
    if "@" in parts.netloc or parts.query:
        raise ModelError(
            f"The address of a model has no user, password or query, which would be recorded with the run. Set {KEY} "
            "in the environment instead."
        )
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise ModelError(f"{url!r} is no address of a server. It is written {_FORM}.")
    return parts

"""Options from a TOML file, which those given on the command line override."""

from __future__ import annotations

import tomllib
from typing import Any

import click

from oodometer.arguments import choice, path
from oodometer.errors import ArgumentError

__all__ = ["config_option"]


def config_option(command: Any) -> Any:  # noqa: ANN401 - a decorator of click commands
    """Add ``--config FILE.toml`` to a command: its keys are the names of the command's other options."""
    return click.option(
        "--config",
        metavar="FILE",
        is_eager=True,
        expose_value=False,
        callback=_take,
        help="A TOML file of these options, such as seed = 1; those given here count more.",
    )(command)


def _take(context: click.Context, _: click.Parameter, file: str | None) -> None:
    if file is None:
        return
    known = {
        option.name: option
        for option in context.command.params
        if isinstance(option, click.Option) and option.name not in {"config", "help"}
    }
    found: dict[str, object] = {}
    for key, value in _read(file).items():
        name = choice(f"option in {file}", key.replace("-", "_"), [name for name in known if name])
        found[name] = _checked(known[name], value, f"{file}: {key}")
    context.default_map = {**(context.default_map or {}), **found}


def _read(file: str) -> dict[str, Any]:
    try:
        with path("--config", file).open("rb") as opened:
            return tomllib.load(opened)
    except OSError as error:
        raise ArgumentError(f"{file} cannot be read: {error.strerror or error}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ArgumentError(f"{file} is not TOML: {error}.") from error


def _checked(option: click.Option, value: object, where: str) -> object:
    """Return a value as the command line would give it, or refuse one of another kind."""
    if option.is_flag:
        expected, fits = "true or false", isinstance(value, bool)
    elif option.type is click.INT:
        expected, fits = "a whole number", isinstance(value, int) and not isinstance(value, bool)
    else:
        expected = "a text, a number or a list of these"
        parts = value if isinstance(value, list) else [value]
        fits = all(isinstance(part, (str, int, float)) and not isinstance(part, bool) for part in parts)
        value = ",".join(map(str, parts))
    if not fits:
        raise ArgumentError(f"{where} must be {expected}.")
    return value

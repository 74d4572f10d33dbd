"""What the texts for people promise: their commands, snippets and links, found and checked the same way everywhere."""

import importlib.util
import re
import shlex
import sys
from pathlib import Path

import click
import numpy as np
import PIL.Image

import oodometer
from oodometer.cli import cli

CHECKOUT = Path(__file__).resolve().parents[1]


def commands(text):
    """Find the lines that call ``oodometer``, without its environment, a file for its output, or comments."""
    lines = re.findall(r"^    (?:\.venv/bin/)?(oodometer .*)$", text, re.MULTILINE)
    return [re.sub(r"\s+[#>]\s.*$", "", line) for line in lines]


def check_parses(line):
    """Let the command line parse a command, down to the last of its groups, without running it."""
    words = shlex.split(line)[1:]
    if words[0] == "--import":  # a module of the reader's
        words = words[2:]
    command, context = cli, None
    while isinstance(command, click.Group):
        context = click.Context(command, parent=context)
        name, command, words = command.resolve_command(context, words)
        assert command is not None, name
    assert command.make_context(command.name, words, parent=context).params is not None


def snippets(text):
    """Find the Python of a text."""
    return re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def stand_ins():
    """Make, in the current folder, what snippets take for granted; return it by the name that they call it by."""
    x = np.random.default_rng(0).integers(0, 256, (224, 224, 3)).astype(np.uint8)
    place = Path("path/to/val/n01440764")
    place.mkdir(parents=True)
    PIL.Image.fromarray(x).save(place / "a.png")
    oodometer.build(place.parent, "path/to/ImageNet-C", corruptions="fog", progress=False)
    return {"x": x, "model": oodometer.FakeModel(), "batch": x[None], "names": ["a.png"], "np": np}


def dead_links(path):
    """Find the targets, relative to the text, at which there is nothing: a file, or a heading of a text."""
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    dead = []
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, heading = target.partition("#")
        there = path.parent / name if name else path
        if not there.is_file() or (heading and heading not in _anchors(there)):
            dead.append(target)
    return dead


def _anchors(path):
    titles = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w]+", "-", title.lower()).strip("-") for title in titles}


def load_tool(name):
    """Load a script of ``tools/`` as a module."""
    spec = importlib.util.spec_from_file_location(name, CHECKOUT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module

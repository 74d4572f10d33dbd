"""The command line: parse, call, print; a file for each family of commands."""

from oodometer.cli.main import cli, main

__all__ = ["cli", "main"]

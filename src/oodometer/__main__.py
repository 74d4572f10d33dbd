"""``python -m oodometer``."""

from oodometer.cli import main

main()

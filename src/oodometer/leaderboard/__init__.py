"""Results that people exchange: exported from runs, checked against their predictions, ranked on a page."""

from oodometer.leaderboard.board import Board, collect, write_board
from oodometer.leaderboard.entry import FORMAT, Entry, Part, export, read_entry
from oodometer.leaderboard.validation import Validation, validate
from oodometer.published_results import PUBLISHED, PublishedResult

__all__ = [
    "FORMAT",
    "PUBLISHED",
    "Board",
    "Entry",
    "Part",
    "PublishedResult",
    "Validation",
    "collect",
    "export",
    "read_entry",
    "validate",
    "write_board",
]

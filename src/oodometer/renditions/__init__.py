"""A set of renditions in ImageNet-R's layout, made of candidates that people and machine look through.

The way of the work: ``collecting`` lists candidates in one table, ``screening`` decides what can be decided without a
person, ``sheets`` makes the contact sheets on which people judge, ``decisions`` reads back what they said, and
``exporting`` writes the finished set. Between the steps lie tables that people can read, those of ``collection`` and
``screened``.
"""

from oodometer.renditions.agreement import Agreement, agreement
from oodometer.renditions.balance import Balance, balance, write_balance
from oodometer.renditions.collecting import collect
from oodometer.renditions.collection import CANDIDATES, Candidate, Collection, open_collection
from oodometer.renditions.datasheet import described, evaluation
from oodometer.renditions.decisions import VERDICTS, Reviewer, read_decisions
from oodometer.renditions.exporting import Exported, export
from oodometer.renditions.parts import Part
from oodometer.renditions.queries import phrases
from oodometer.renditions.reasons import REASONS
from oodometer.renditions.screened import SCREENING, Screened, read_screening
from oodometer.renditions.screening import SMALLEST, screen
from oodometer.renditions.sheets import write_sheets
from oodometer.renditions.vocabulary import Vocabulary, vocabulary

__all__ = [
    "CANDIDATES",
    "REASONS",
    "SCREENING",
    "SMALLEST",
    "VERDICTS",
    "Agreement",
    "Balance",
    "Candidate",
    "Collection",
    "Exported",
    "Part",
    "Reviewer",
    "Screened",
    "Vocabulary",
    "agreement",
    "balance",
    "collect",
    "described",
    "evaluation",
    "export",
    "open_collection",
    "phrases",
    "read_decisions",
    "read_screening",
    "screen",
    "vocabulary",
    "write_balance",
    "write_sheets",
]

"""Numbers to tables and pages. Reads a run's store and the metrics; never a model or an image folder.

``reader`` turns the store into a ``Summary`` (``summary``), which ``text``, ``html`` and ``results`` print.
"""

from oodometer.report.document import write_report
from oodometer.report.reader import summarize
from oodometer.report.results import results
from oodometer.report.summary import Summary
from oodometer.report.text import WIDTH, ResultTable

__all__ = ["WIDTH", "ResultTable", "Summary", "results", "summarize", "write_report"]

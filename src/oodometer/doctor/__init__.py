"""The data doctor: whether a data set on disk is whole, readable, and what it says it is."""

from oodometer.doctor.diagnosis import Diagnosis, Finding
from oodometer.doctor.examine import check
from oodometer.doctor.text import as_text

__all__ = ["Diagnosis", "Finding", "as_text", "check"]

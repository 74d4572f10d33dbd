"""Many models on many benchmarks, from one file: each pair a run of its own, one failure no reason to stop.

``plan`` reads the file, ``settling`` checks all of it before any work, ``running`` makes the runs, each in a process of
its own, and ``result`` puts their numbers side by side.
"""

from oodometer.sweeping.result import Outcome, Sweep
from oodometer.sweeping.running import sweep

__all__ = ["Outcome", "Sweep", "sweep"]

"""Measure how far an image classifier's accuracy travels off its training distribution."""

__version__ = "0.1.0"

"""The colours of an error rate: one scale for the page and the terminal, with text that can be read on every step."""

from __future__ import annotations

import math

__all__ = ["DARK", "LIGHT", "step"]

# Eleven steps from no error to all wrong, even in Oklab between five stops, as (background, text). The text is
# near-black or white, whichever has the greater contrast, never under 4.5 : 1 (WCAG AA; a test measures it).
LIGHT: tuple[tuple[str, str], ...] = (
    ("#fcf7ee", "#0d0a08"),
    ("#fbebd2", "#0d0a08"),
    ("#f9dfb6", "#0d0a08"),
    ("#f7cd99", "#0d0a08"),
    ("#f3b37b", "#0d0a08"),
    ("#ee9a5b", "#0d0a08"),
    ("#e0794e", "#0d0a08"),
    ("#d05740", "#0d0a08"),
    ("#b53b39", "#ffffff"),
    ("#902836", "#ffffff"),
    ("#6d1531", "#ffffff"),
)
"""For a light page: the paler, the fewer errors."""

DARK: tuple[tuple[str, str], ...] = (
    ("#22242a", "#ffffff"),
    ("#322730", "#ffffff"),
    ("#422935", "#ffffff"),
    ("#572d3a", "#ffffff"),
    ("#73313e", "#ffffff"),
    ("#8f3442", "#ffffff"),
    ("#ac4743", "#ffffff"),
    ("#ca5b41", "#0d0a08"),
    ("#e27b4e", "#0d0a08"),
    ("#f2a66b", "#0d0a08"),
    ("#ffd089", "#0d0a08"),
)
"""For a dark page: the darker, the fewer errors."""


def step(error: float) -> int:
    """Return the step of the scale, 0 to 10, for an error in [0, 1]; an undefined error takes the lowest."""
    if math.isnan(error):
        return 0
    return round(min(max(error, 0.0), 1.0) * (len(LIGHT) - 1))

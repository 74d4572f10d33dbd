"""Pictures for people: one image under many corruptions, as a grid, a page or an animation."""

from oodometer.showing.animation import animate
from oodometer.showing.grid import Cell, Grid, show

__all__ = ["Cell", "Grid", "animate", "show"]

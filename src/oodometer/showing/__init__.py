"""Pictures for people: one image under many corruptions, as a grid, a page or an animation."""

from oodometer.showing.animation import animate
from oodometer.showing.asking import Asker
from oodometer.showing.grid import ENDINGS, Cell, Grid, show
from oodometer.showing.source import target

__all__ = ["ENDINGS", "Asker", "Cell", "Grid", "animate", "show", "target"]

"""The live page: runs, their pictures and one image to play with, in a browser on the same machine; read only."""

from oodometer.viewing.serving import serve

__all__ = ["serve"]

"""Published sets from the network or a mirror: downloaded, checked, unpacked, and there whole or not at all."""

from oodometer.fetching.sets import Marker, fetch, read_marker

__all__ = ["Marker", "fetch", "read_marker"]

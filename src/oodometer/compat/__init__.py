"""The interfaces of other packages, one module each, so that code written for them changes one import line."""

__all__: list[str] = []

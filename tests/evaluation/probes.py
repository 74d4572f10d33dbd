"""Options and models for the tests of an evaluation."""

FAST = {"preprocess": "none", "edition": "tiny64", "progress": False}
"""Options under which a small picture goes through all conditions in milliseconds."""


class Probe:
    """A model that applies a function to each batch and remembers what it saw."""

    normalization = None

    def __init__(self, logits, name="probe"):
        self.logits = logits
        self.name = name
        self.fingerprint = name
        self.seen = []

    def predict(self, images):
        self.seen.append(images.copy())
        return self.logits(images)

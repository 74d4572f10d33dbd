"""Lightning's callback: a real training, whose weights are the same without it, and the numbers that it logs."""

import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch

import oodometer
from colour_task import write_task
from oodometer.errors import ArgumentError
from oodometer.training import RobustnessCallback, RobustnessCheck

pytestmark = pytest.mark.frameworks

SUBSET = {"preprocess": "none", "edition": "cifar32", "corruptions": ("gaussian_noise", "contrast"), "limit": 9}


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    return write_task(tmp_path_factory.mktemp("task"))


def _module():
    import lightning.pytorch as pl

    class Classifier(pl.LightningModule):
        def __init__(self):
            super().__init__()
            torch.manual_seed(3)
            self.net = torch.nn.Sequential(
                torch.nn.Conv2d(3, 8, 5, stride=4),
                torch.nn.BatchNorm2d(8),
                torch.nn.ReLU(),
                torch.nn.AdaptiveAvgPool2d(1),
                torch.nn.Flatten(),
                torch.nn.Dropout(0.3),
                torch.nn.Linear(8, 3),
            )

        def forward(self, x):
            return self.net(x)

        def training_step(self, batch, _):
            return torch.nn.functional.cross_entropy(self(batch[0]), batch[1])

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters(), lr=0.01)

    return Classifier()


def _trained(task, folder, callbacks=(), epochs=2, **more):
    import lightning.pytorch as pl

    x = torch.from_numpy(task.pictures).permute(0, 3, 1, 2).float() / 255
    data = torch.utils.data.TensorDataset(x, torch.from_numpy(task.classes))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Lightning's own: few workers, a small data set
        module = _module()
        trainer = pl.Trainer(
            max_epochs=epochs,
            accelerator="cpu",
            callbacks=list(callbacks),
            default_root_dir=folder,
            enable_progress_bar=False,
            enable_model_summary=False,
            **more,
        )
        trainer.fit(module, torch.utils.data.DataLoader(data, batch_size=8, shuffle=True))
    return trainer, module


@pytest.fixture
def logger():
    """Keep what Lightning gives to loggers, by epoch."""
    from lightning.pytorch.loggers.logger import DummyLogger

    class Kept(DummyLogger):
        def __init__(self):
            super().__init__()
            self.logged = {}

        def log_metrics(self, metrics, step=None):
            self.logged.setdefault(int(metrics["epoch"]), {}).update(metrics)

    return Kept()


def test_weights_are_bit_for_bit_those_without_it(task, tmp_path):
    check = RobustnessCheck(task.folder, labels=task.labels, **SUBSET)
    plain = _trained(task, tmp_path, logger=False)[1].state_dict()
    checked = _trained(task, tmp_path, [RobustnessCallback(check)], logger=False)[1].state_dict()
    assert plain.keys() == checked.keys()
    assert all(torch.equal(plain[name], checked[name]) for name in plain)
    assert not torch.equal(plain["net.0.weight"], _module().state_dict()["net.0.weight"])


def test_what_is_logged_is_an_evaluation_of_the_subset(task, tmp_path, logger):
    from lightning.pytorch.callbacks import ModelCheckpoint

    check = RobustnessCheck(task.folder, labels=task.labels, out=tmp_path / "runs", **SUBSET)
    best = ModelCheckpoint(tmp_path, monitor="oodometer/subset/mean_error")
    trainer, module = _trained(task, tmp_path, [RobustnessCallback(check), best], logger=logger)
    options = {"labels": task.labels, "baseline": None, "progress": False, **SUBSET}
    run = oodometer.evaluate(module, task.folder, **options)
    part = run.summary().corruptions
    last = logger.logged[1]
    for name, estimate in {
        "clean_error": part.clean_error,
        "mean_error": part.mean_error,
        "error/contrast": {row.name: row.mean for row in part.rows}["contrast"],
    }.items():
        for end, value in (("", estimate.value), ("_low", estimate.low), ("_high", estimate.high), ("_n", 9)):
            assert last[f"oodometer/subset/{name}{end}"] == pytest.approx(value, rel=1e-6)  # they are float32 there
    stored = oodometer.Run(tmp_path / "runs" / "epoch-0000")
    assert logger.logged[0]["oodometer/subset/clean_error"] == pytest.approx(stored.clean_error.value, rel=1e-6)
    assert float(best.best_model_score) == min(logger.logged[e]["oodometer/subset/mean_error"] for e in (0, 1))
    assert trainer.callback_metrics["oodometer/subset/mean_error"] == last["oodometer/subset/mean_error"]


def test_every_other_epoch(task, tmp_path):
    check = RobustnessCheck(task.folder, labels=task.labels, out=tmp_path / "runs", **SUBSET)
    _trained(task, tmp_path, [RobustnessCallback(check, every=2)], epochs=4, logger=False)
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == ["epoch-0001", "epoch-0003"]


_TWO = """
import sys
from pathlib import Path
sys.path[:0] = sys.argv[1].split(":")
from test_lightning import SUBSET, _trained
from colour_task import Task
import numpy as np
from oodometer.training import RobustnessCallback, RobustnessCheck

folder, labels, out = map(Path, sys.argv[2:])
pictures, classes = (np.load(out / f"{name}.npy") for name in ("pictures", "classes"))
check = RobustnessCheck(folder, labels=labels, out=out / "runs", **SUBSET)
trainer, _ = _trained(
    Task(folder, labels, pictures, classes), out, [RobustnessCallback(check)], logger=False, devices=2, strategy="ddp"
)
value = float(trainer.callback_metrics["oodometer/subset/mean_error"])
Path(out / f"rank{trainer.global_rank}").write_text(repr(value))
"""


def test_one_of_two_processes_evaluates_and_both_have_the_numbers(task, tmp_path):
    np.save(tmp_path / "pictures.npy", task.pictures)
    np.save(tmp_path / "classes.npy", task.classes)
    script = tmp_path / "two.py"
    script.write_text(_TWO)
    here = Path(__file__).parent
    places = f"{here}:{here.parent}"
    done = subprocess.run(
        [sys.executable, str(script), places, str(task.folder), str(task.labels), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    values = {(tmp_path / f"rank{rank}").read_text() for rank in range(2)}
    assert len(values) == 1
    error = oodometer.Run(tmp_path / "runs" / "epoch-0001").summary().corruptions.mean_error.value
    assert float(values.pop()) == pytest.approx(error, rel=1e-6)


def test_mistakes_are_told_before_the_training(task):
    check = RobustnessCheck(task.folder, labels=task.labels, **SUBSET)
    with pytest.raises(ArgumentError, match="RobustnessCheck"):
        RobustnessCallback(task.folder)
    with pytest.raises(ArgumentError, match="every"):
        RobustnessCallback(check, every=0)


def test_a_model_that_is_spread_over_processes_is_refused(task):
    from lightning.pytorch.strategies import FSDPStrategy

    class Trainer:
        strategy = FSDPStrategy()

    check = RobustnessCheck(task.folder, labels=task.labels, **SUBSET)
    with pytest.raises(ArgumentError, match="FSDPStrategy spreads the model"):
        RobustnessCallback(check).setup(Trainer(), None, "fit")

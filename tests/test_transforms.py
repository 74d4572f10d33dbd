"""Corruptions in pipelines: what comes in comes out, and no two images share noise, in whichever process."""

import copy
import multiprocessing
import os
import pickle
import subprocess
import sys

import numpy as np
import PIL.Image
import pytest
import torch

import oodometer
from oodometer.errors import ArgumentError
from oodometer.transforms import Corrupt, corrupt_batch

PICTURE = np.random.RandomState(0).randint(0, 256, (64, 72, 3)).astype(np.uint8)
GRAY = np.full((64, 64, 3), 128, np.uint8)


def _noise(seed=None):
    return Corrupt("gaussian_noise", 3, seed=seed)


class TestKinds:
    """The same kind, dtype and layout comes out; the deterministic ``contrast`` says what the pixels must be."""

    expected = oodometer.corrupt(PICTURE, "contrast", 2)
    step = Corrupt("contrast", 2)

    def test_array(self):
        np.testing.assert_array_equal(self.step(PICTURE), self.expected)

    def test_pil(self):
        result = self.step(PIL.Image.fromarray(PICTURE))
        assert isinstance(result, PIL.Image.Image)
        np.testing.assert_array_equal(np.asarray(result), self.expected)

    def test_tensor_of_bytes(self):
        tensor = torch.from_numpy(PICTURE).permute(2, 0, 1)
        result = self.step(tensor)
        assert result.dtype == torch.uint8
        assert result.is_contiguous()
        np.testing.assert_array_equal(result.permute(1, 2, 0).numpy(), self.expected)

    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
    def test_tensor_of_floats(self, dtype):
        tensor = (torch.from_numpy(PICTURE).permute(2, 0, 1).double() / 255).to(dtype)
        levels = (tensor.double() * 255).round().byte()  # what is left of the picture in this dtype
        expected = oodometer.corrupt(levels.permute(1, 2, 0).numpy(), "contrast", 2)
        result = self.step(tensor)
        assert result.dtype == dtype
        assert result.shape == tensor.shape
        wanted = (torch.from_numpy(expected).permute(2, 0, 1).double() / 255).to(dtype)
        assert torch.equal(result, wanted)

    def test_batches(self):
        batch = np.stack([PICTURE, PICTURE[::-1]])
        expected = np.stack([self.expected, oodometer.corrupt(PICTURE[::-1], "contrast", 2)])
        np.testing.assert_array_equal(self.step(batch), expected)
        tensor = torch.from_numpy(batch).permute(0, 3, 1, 2)
        np.testing.assert_array_equal(self.step(tensor).permute(0, 2, 3, 1).numpy(), expected)
        assert self.step(tensor[:0]).shape == (0, 3, 64, 72)
        assert self.step(batch[:0]).shape == (0, 64, 72, 3)

    def test_a_class_of_tensors_is_kept(self):
        class Picture(torch.Tensor):
            pass

        tensor = torch.from_numpy(PICTURE).permute(2, 0, 1).as_subclass(Picture)
        assert type(self.step(tensor)) is Picture
        assert type(self.step(torch.stack([tensor, tensor]))) is Picture

    def test_by_keyword_as_albumentations_does(self):
        mask = object()
        result = self.step(image=PICTURE, mask=mask)
        assert result.keys() == {"image", "mask"}
        assert result["mask"] is mask
        np.testing.assert_array_equal(result["image"], self.expected)

    def test_among_other_steps(self):
        def compose(*steps):
            def composed(image):
                for step in steps:
                    image = step(image)
                return image

            return composed

        to_tensor = lambda image: torch.from_numpy(np.array(image)).permute(2, 0, 1).float() / 255  # noqa: E731
        before = compose(self.step, to_tensor)(PIL.Image.fromarray(PICTURE))
        after = compose(to_tensor, self.step)(PIL.Image.fromarray(PICTURE))
        assert torch.equal(before, after)

    @pytest.mark.parametrize("p", [0, 1])
    def test_gray_becomes_rgb_whatever_chance_says(self, p):
        step = Corrupt("contrast", 2, p=p)
        assert step(PICTURE[:, :, 0]).shape == (64, 72, 3)
        assert step(PIL.Image.fromarray(PICTURE).convert("L")).mode == "RGB"
        assert step(torch.zeros(1, 64, 72)).shape == (3, 64, 72)
        assert step(torch.zeros(4, 1, 64, 72)).shape == (4, 3, 64, 72)

    def test_inputs_stay_as_they_are(self):
        tensor = torch.rand(3, 64, 64, generator=torch.Generator().manual_seed(0))
        before = tensor.clone()
        untouched = Corrupt("fog", 3, p=0)(tensor)
        Corrupt("fog", 3)(tensor)
        assert torch.equal(tensor, before)
        assert torch.equal(untouched, before)
        untouched.zero_()
        assert torch.equal(tensor, before)

    @pytest.mark.parametrize(
        ("image", "message"),
        [
            (torch.zeros(64, 64, 3), "3 x height x width"),
            (torch.zeros(64, 64), "3 x height x width"),
            (torch.zeros(3, 64, 64, dtype=torch.int64), "int64"),
            (torch.zeros(3, 64, 64) - 0.5, "-0.5"),
            (None, "Give one image"),
            ([PICTURE], "list"),
        ],
    )
    def test_what_is_no_image_is_refused(self, image, message):
        with pytest.raises(ArgumentError, match=message):
            self.step(image)
        with pytest.raises(ArgumentError):
            self.step(mask=PICTURE)


class TestChoices:
    def test_a_group_is_drawn_from_evenly(self):
        step = Corrupt("digital", 2, seed=0)
        possible = {oodometer.corrupt(PICTURE, n, 2).tobytes(): n for n in ("contrast", "pixelate", "jpeg_compression")}
        drawn = [possible.get(step(PICTURE).tobytes(), "elastic_transform") for _ in range(200)]
        counts = [drawn.count(name) for name in oodometer.list_corruptions("digital")]
        # Chi-square with 3 degrees of freedom; above 16.3 once in 1000.
        assert sum((count - 50) ** 2 / 50 for count in counts) < 16.3

    def test_severities_and_p(self):
        black = np.zeros((16, 16, 3), np.uint8)  # brightness adds 25.5 levels a severity at the first ones

        def drawn(severity, p=1.0):
            step = Corrupt("brightness", severity, p=p, seed=1, edition="cifar32")
            return np.array([step(black)[0, 0, 0] for _ in range(300)])

        levels = [
            int(oodometer.corrupt(black, "brightness", s, edition="cifar32")[0, 0, 0]) for s in (0, 1, 2, 3, 4, 5)
        ]
        assert set(drawn(2)) == {levels[2]}
        assert set(drawn([1, 3])) == {levels[1], levels[3]}
        assert set(drawn(range(1, 6))) == set(levels[1:])
        between = drawn((1, 3))
        assert levels[1] <= between.min() < between.max() <= levels[3]
        assert len(set(between)) > 10
        assert abs((between < levels[2]).mean() - 0.5) < 0.13  # 4.5 standard errors
        rare = drawn(2, p=0.25)
        assert set(rare) == {0, levels[2]}
        assert abs((rare > 0).mean() - 0.25) < 0.11

    @pytest.mark.parametrize(
        "arguments",
        [
            {"corruption": "fogg"},
            {"corruption": []},
            {"corruption": ["fog", "smog"]},
            {"severity": -1},
            {"severity": 11},
            {"severity": float("nan")},
            {"severity": True},
            {"severity": "3"},
            {"severity": []},
            {"severity": (3, 1)},
            {"severity": None},
            {"p": 1.5},
            {"p": float("nan")},
            {"seed": 0.5},
            {"edition": "imagenet"},
        ],
    )
    def test_wrong_arguments_are_refused_at_once(self, arguments):
        with pytest.raises(ArgumentError):
            Corrupt(**{"corruption": "fog", **arguments})

    def test_its_repr_makes_it_again(self):
        step = Corrupt(["fog", "snow"], severity=(1, 2.5), p=0.5, seed=4, edition="tiny64")
        again = eval(repr(step), {"Corrupt": Corrupt})
        np.testing.assert_array_equal(step(PICTURE), again(PICTURE))


class Pictures(torch.utils.data.Dataset):
    """One flat picture many times, so that what differs is the noise."""

    def __init__(self, step):
        self.step = step

    def __len__(self):
        return 12

    def __getitem__(self, index):
        return self.step(torch.full((3, 64, 64), 128, dtype=torch.uint8))


def _epochs(step, context, workers=2, epochs=2):
    loader = torch.utils.data.DataLoader(
        Pictures(step), batch_size=2, num_workers=workers, multiprocessing_context=context if workers else None
    )
    return torch.cat([batch for _ in range(epochs) for batch in loader]).numpy()


def _largest_correlation(images):
    fields = images.reshape(len(images), -1).astype(float)
    return np.abs(np.corrcoef(fields) - np.eye(len(fields))).max()


class TestChance:
    """Case E2 of public reports: workers that draw the same noise."""

    @pytest.mark.parametrize("seed", [None, 3])
    @pytest.mark.parametrize("context", ["fork", "spawn"])
    @pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
    def test_no_two_images_of_workers_and_epochs_share_noise(self, context, seed):
        images = _epochs(_noise(seed), context, epochs=1 if context == "spawn" else 2)
        # 12,288 values, so one of 276 pairs is above 0.05 by chance once in a million times.
        assert _largest_correlation(images) < 0.05

    @pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
    def test_torchs_seed_repeats_what_its_workers_draw(self):
        def run(seed, workers):
            torch.manual_seed(seed)
            return _epochs(_noise(), "fork", workers).tobytes()

        for workers in (0, 2):
            assert run(5, workers) == run(5, workers)
            assert run(5, workers) != run(6, workers)

    def test_a_seed_repeats_a_program_whatever_torchs_generator_does(self):
        # A program of its own each time: within one, the processes are numbered on.
        script = (
            "import hashlib, sys, torch; sys.path.insert(0, sys.argv[1]); from test_transforms import _epochs, _noise\n"
            "if __name__ == '__main__': print(hashlib.sha256(_epochs(_noise(3), 'fork').tobytes()).hexdigest())"
        )
        folder = os.path.dirname(__file__)  # noqa: PTH120
        runs = [
            subprocess.run(
                [sys.executable, "-W", "ignore", "-c", script, folder], capture_output=True, text=True, check=True
            ).stdout
            for _ in range(2)
        ]
        assert len(runs[0]) > 60
        assert runs[0] == runs[1]

    def test_a_sequence_repeats_and_never_returns(self):
        first, again, other = ([step(GRAY).tobytes() for _ in range(5)] for step in (_noise(1), _noise(1), _noise(2)))
        assert first == again
        assert len({*first, *other}) == 10

    def test_a_copy_has_a_sequence_of_its_own(self):
        step = _noise(1)
        steps = [step, copy.copy(step), copy.deepcopy(step), pickle.loads(pickle.dumps(step))]
        assert len({each(GRAY).tobytes() for each in steps for _ in range(2)}) == 8

    def test_each_image_of_a_batch_draws_for_itself(self):
        assert _largest_correlation(_noise()(np.stack([GRAY] * 4))) < 0.05

    @pytest.mark.parametrize("seed", [None, 3])
    @pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
    def test_other_forked_processes_do_not_share_noise(self, seed):
        with multiprocessing.get_context("fork").Pool(2) as pool:
            images = pool.map(_noise(seed), [GRAY] * 8, chunksize=2)  # each chunk has a copy
        images += [_noise(seed)(GRAY)] if seed is None else []
        assert _largest_correlation(np.stack(images)) < 0.05

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
    @pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
    def test_bare_forks_are_told_apart(self):
        def in_child(step):
            reading, writing = os.pipe()
            if os.fork() == 0:
                os.write(writing, step(GRAY)[:8, :8].tobytes())
                os._exit(0)
            os.wait()
            return os.read(reading, 1000)

        for step in (_noise(), _noise(3)):
            assert len({in_child(step), in_child(step), step(GRAY)[:8, :8].tobytes()}) == 3

    def test_torch_is_not_imported(self):
        script = (
            "import sys, numpy as np; from oodometer.transforms import Corrupt\n"
            "a, b = (Corrupt('contrast', 2, seed=s)(np.zeros((64, 64, 3), np.uint8)) for s in (None, 1))\n"
            "print('torch' in sys.modules)"
        )
        run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        assert run.stdout.strip() == "False"


class TestCorruptBatch:
    def test_each_image_is_that_of_its_name_in_any_order(self):
        images = [np.roll(PICTURE, k, 0) for k in range(3)]
        expected = [oodometer.corrupt(i, "fog", 2, seed=7, image_id=str(k)) for k, i in enumerate(images)]
        for order in ([0, 1, 2], [2, 0, 1]):
            result = corrupt_batch([images[k] for k in order], "fog", 2, image_ids=order, seed=7)
            for k, image in zip(order, result, strict=True):
                np.testing.assert_array_equal(image, expected[k])

    def test_the_same_kind_comes_out(self):
        array = np.stack([PICTURE, PICTURE])
        ids = ["a/1.jpg", "a/2.jpg"]
        result = corrupt_batch(array, "shot_noise", 1, image_ids=ids)
        assert isinstance(result, np.ndarray)
        tensor = corrupt_batch(torch.from_numpy(array).permute(0, 3, 1, 2), "shot_noise", 1, image_ids=ids)
        np.testing.assert_array_equal(tensor.permute(0, 2, 3, 1).numpy(), result)
        pictures = corrupt_batch([PIL.Image.fromarray(i) for i in array], "shot_noise", 1, image_ids=ids)
        np.testing.assert_array_equal(np.stack([np.asarray(i) for i in pictures]), result)
        assert not np.array_equal(result[0], result[1])

    def test_names_may_be_bytes_and_integers_of_any_library(self):
        images = [PICTURE] * 3
        texts = corrupt_batch(images, "shot_noise", image_ids=["é", "4", "5"])
        others = corrupt_batch(images, "shot_noise", image_ids=np.array(["é".encode(), np.int64(4), 5], object))
        np.testing.assert_array_equal(texts, others)

    def test_images_of_several_sizes(self):
        small, large = corrupt_batch([PICTURE[:64, :64], PICTURE], "contrast", 1, image_ids=[0, 1])
        assert (small.shape, large.shape) == ((64, 64, 3), (64, 72, 3))

    @pytest.mark.parametrize("ids", [[], ["a", "b"], [None], [1.5]])
    def test_each_image_needs_a_name(self, ids):
        with pytest.raises(ArgumentError, match="image id"):
            corrupt_batch([PICTURE], "fog", 1, image_ids=ids)

"""The batch size is found by doubling, on a clock of the test's own."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oodometer.models.batching import LARGEST, SMALLEST, find_batch_size, is_out_of_memory, padded

PICTURE = np.zeros((4, 4, 3), np.uint8)


class Machine:
    """A model that takes a made-up time for a batch, and fails above a made-up memory."""

    def __init__(self, seconds, memory=10**9):
        self.seconds, self.memory, self.now, self.sizes = seconds, memory, 0.0, []

    def predict(self, images):
        self.sizes.append(len(images))
        if len(images) > self.memory:
            raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB.")
        self.now += self.seconds(len(images))
        return np.zeros((len(images), 3))

    def best(self, largest=LARGEST):
        return find_batch_size(self.predict, PICTURE, largest, clock=lambda: self.now)


@pytest.mark.parametrize(
    ("machine", "expected"),
    [
        (Machine(lambda n: 0.01 * n / 64 if n > 64 else 0.01), 64),  # as fast up to 64 as for one
        (Machine(lambda n: 0.001 * n), 16),  # nothing to gain
        (Machine(lambda n: 0.01), 1024),  # everything to gain
        (Machine(lambda n: 0.01, memory=100), 64),
        (Machine(lambda n: 0.01, memory=8), 16),  # whoever asks must halve
        (Machine(lambda n: 0.6 + 0.01 * n), 64),  # a batch of 64 takes longer than a second
        (Machine(lambda n: 0.0), 1024),  # too fast for the clock
    ],
)
def test_it_stops_where_it_should(machine, expected):
    assert machine.best() == expected


def test_it_never_asks_for_more_than_it_may():
    machine = Machine(lambda n: 0.01)
    assert machine.best(largest=100) == 64
    assert max(machine.sizes) == 64


def test_whatever_else_fails_is_left_to_the_road():
    def failing(images):
        raise ValueError("no")

    assert find_batch_size(failing, PICTURE) == SMALLEST


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (MemoryError(), True),
        (RuntimeError("CUDA out of memory. Tried to allocate 20.00 MiB"), True),
        (
            RuntimeError("[enforce fail at alloc_cpu.cpp:124] DefaultCPUAllocator: can't allocate memory: you tried"),
            True,
        ),
        (RuntimeError("MPS backend out of memory (MPS allocated: 1 GB)"), True),
        (Exception("[ONNXRuntimeError] : Failed to allocate memory for requested buffer of size 1"), True),
        (Exception("OOM when allocating tensor with shape[1024,64]"), True),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), False),
        (ValueError("memory"), False),
    ],
)
def test_the_words_of_each_framework_are_known(error, expected):
    assert is_out_of_memory(error) is expected


@given(st.integers(1, 12), st.one_of(st.none(), st.integers(1, 8)))
def test_a_fixed_batch_gives_what_any_batch_gives(count, batch):
    images = np.arange(count * 3).reshape(count, 3)
    asked = []

    def model(part):
        asked.append(len(part))
        return part * 2.0

    np.testing.assert_array_equal(padded(model, images, batch), images * 2.0)
    assert set(asked) == {batch or count}

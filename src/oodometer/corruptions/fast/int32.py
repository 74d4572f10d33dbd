"""32-bit integer arithmetic for compiled loops: Numba itself widens every sum and product to 64 bits.

Half as many numbers fit a vector register then, and 64-bit products are slow. Casting back does not help, because the
compiler removes the casts where it can see that nothing is lost. Results wrap around at 32 bits.
"""

from __future__ import annotations

import typing
from collections.abc import Callable

import numpy as np
from numba import types
from numba.extending import intrinsic

__all__ = ["add", "mul", "shifted", "sub"]


Inner: typing.TypeAlias = typing.Any
"""An object of Numba's own, which publishes no types."""


def _operation(name: str) -> Callable[[Inner, Inner], np.int32]:
    """Return a function for compiled code: one LLVM instruction on two numbers, made int32 first."""

    @intrinsic
    def operation(context: Inner, a: Inner, b: Inner) -> tuple[Inner, Callable[..., Inner]]:
        def generate(context: Inner, builder: Inner, signature: Inner, arguments: Inner) -> Inner:
            return getattr(builder, name)(*arguments)

        return types.int32(types.int32, types.int32), generate

    return typing.cast(Callable[[Inner, Inner], np.int32], operation)


add = _operation("add")
sub = _operation("sub")
mul = _operation("mul")
shifted = _operation("ashr")  # to the right, rounding down

"""Explicit vectors for Numba: the few operations that plain loops do not compile to, once, as portable LLVM code.

A value of type ``Vector`` holds ``lanes`` numbers of one type, best 512 bits of them (32 uint16, 16 float32): the
compiler splits it where the processor has shorter registers. Nothing here is specific to a processor, and integer
results are the same on all. Within compiled code::

    v = load(array, i, 32)                       # array[i : i + 32]; the array is 1-D and contiguous
    v = high_product(v, fill(U16(900), 32)) + v  # + - * & | ^ << >> and < <= > >= == != work lane by lane
    store(array, i, v)

Nobody checks the bounds, as in all compiled code here: callers leave room at the end of a buffer, or let the last
vector overlap the one before. Numbers do not turn into vectors by themselves, nor one type into another: see ``fill``
and ``convert``.

Each kernel with explicit vectors has a plain twin with the same result. A function that has both takes ``explicit``,
which is ``vectors.explicit()``: ``True``, or ``None`` where the plain one shall run. Numba removes a branch
``if explicit is None`` before it compiles, so that each process compiles one twin only and caches the two apart. Plain
ones run where the explicit ones do not compile, and after setting ``OODOMETER_VECTORS=0`` in the environment.
"""

# Numba and LLVM publish types for half of what they offer.
# mypy: disable-error-code="no-untyped-call, untyped-decorator"

from __future__ import annotations

import functools
import operator
import os
import typing
from collections.abc import Callable

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import lower_builtin, models, register_model

__all__ = [
    "Vector",
    "bits",
    "convert",
    "explicit",
    "fill",
    "high_product",
    "larger",
    "load",
    "select",
    "shuffler",
    "smaller",
    "store",
]

Inner: typing.TypeAlias = typing.Any
"""An object of Numba's or LLVM's own, which publish no types."""

Typed: typing.TypeAlias = typing.Any
"""What a typing function returns to Numba: a signature and the function that writes the code, or ``None``."""

intrinsic: Inner = numba.extending.intrinsic


class Vector(types.Type):
    """The type of ``lanes`` numbers of one Numba type."""

    def __init__(self, dtype: Inner, lanes: int) -> None:
        super().__init__(name=f"Vector({dtype}, {lanes})")
        self.dtype, self.lanes = dtype, lanes

    def of(self, dtype: Inner) -> Vector:
        """Return the type of as many lanes of another type."""
        return Vector(dtype, self.lanes)

    @property
    def whole(self) -> bool:
        """Whether the lanes are integers."""
        return isinstance(self.dtype, types.Integer)

    @property
    def signed(self) -> bool:
        """Whether the lanes are integers with a sign."""
        return self.whole and bool(self.dtype.signed)


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Inner, vector: Vector) -> None:
        lane = ir.IntType(1) if vector.dtype == types.boolean else manager[vector.dtype].get_value_type()
        super().__init__(manager, vector, ir.VectorType(lane, vector.lanes))


def _like(*vectors: Inner) -> bool:
    """Whether all are vectors of one type."""
    return all(isinstance(vector, Vector) and vector == vectors[0] for vector in vectors)


def _address(context: Inner, builder: Inner, sig: Inner, args: Inner, vector: Vector) -> Inner:
    """Return a pointer to the vector at ``args[1]`` (an index) of the array ``args[0]``."""
    data = cgutils.create_struct_proxy(sig.args[0])(context, builder, value=args[0]).data
    index = context.cast(builder, args[1], sig.args[1], types.intp)
    return builder.bitcast(builder.gep(data, [index]), context.get_value_type(vector).as_pointer())


def _flat(array: Inner, index: Inner) -> bool:
    return (
        isinstance(array, types.Array) and (array.ndim, array.layout) == (1, "C") and isinstance(index, types.Integer)
    )


@intrinsic(prefer_literal=True)
def load(context: Inner, array: Inner, index: Inner, lanes: Inner) -> Typed:
    """Return ``array[index : index + lanes]``; ``lanes`` is a number written in the code."""
    if not _flat(array, index) or not isinstance(lanes, types.IntegerLiteral):
        return None
    vector = Vector(array.dtype, lanes.literal_value)
    bytes_a_lane = array.dtype.bitwidth // 8

    def build(context: Inner, builder: Inner, sig: Inner, args: Inner) -> Inner:
        return builder.load(_address(context, builder, sig, args, vector), align=bytes_a_lane)

    return vector(array, index, lanes), build


@intrinsic
def store(context: Inner, array: Inner, index: Inner, vector: Inner) -> Typed:
    """Write ``array[index : index + lanes] = vector``."""
    if not _flat(array, index) or not isinstance(vector, Vector) or vector.dtype != array.dtype:
        return None
    bytes_a_lane = array.dtype.bitwidth // 8

    def build(context: Inner, builder: Inner, sig: Inner, args: Inner) -> Inner:
        builder.store(args[2], _address(context, builder, sig, args, vector), align=bytes_a_lane)
        return context.get_dummy_value()

    return types.void(array, index, vector), build


@intrinsic(prefer_literal=True)
def fill(context: Inner, number: Inner, lanes: Inner) -> Typed:
    """Return a vector with one number in all lanes; its type is the number's, as in ``fill(np.uint16(3), 32)``."""
    number = types.unliteral(number)
    if not isinstance(number, types.Number) or not isinstance(lanes, types.IntegerLiteral):
        return None
    vector = Vector(number, lanes.literal_value)

    def build(context: Inner, builder: Inner, sig: Inner, args: Inner) -> Inner:
        empty = ir.Constant(context.get_value_type(vector), ir.Undefined)
        first = builder.insert_element(empty, args[0], ir.Constant(ir.IntType(32), 0))
        return builder.shuffle_vector(first, empty, _mask([0] * vector.lanes))

    return vector(number, lanes), build


def _mask(lanes: typing.Sequence[int]) -> ir.Constant:
    return ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), list(lanes))


def shuffler(*chosen: int) -> Inner:
    """Make a function ``shuffle(a, b)`` for compiled code that picks lanes of two vectors of one type.

    Parameters
    ----------
    chosen
        For each lane of the result, the number of a lane: those of ``b`` follow those of ``a``.
    """

    @intrinsic
    def shuffle(context: Inner, a: Inner, b: Inner) -> Typed:
        if not _like(a, b):
            return None

        def build(context: Inner, builder: Inner, sig: Inner, args: Inner) -> Inner:
            return builder.shuffle_vector(args[0], args[1], _mask(chosen))

        return Vector(a.dtype, len(chosen))(a, b), build

    return shuffle


@intrinsic
def high_product(context: Inner, a: Inner, b: Inner) -> Typed:
    """Return the upper half of the bits of each product of two integers."""
    if not _like(a, b) or not a.whole:
        return None

    def build(context: Inner, builder: Inner, sig: Inner, args: Inner) -> Inner:
        wide = ir.VectorType(ir.IntType(2 * a.dtype.bitwidth), a.lanes)
        extend = builder.sext if a.signed else builder.zext
        product = builder.mul(extend(args[0], wide), extend(args[1], wide))
        half = ir.Constant(wide, [a.dtype.bitwidth] * a.lanes)
        return builder.trunc(builder.lshr(product, half), context.get_value_type(a))

    return a(a, b), build


@intrinsic
def convert(context: Inner, vector: Inner, dtype: Inner) -> Typed:
    """Return the lanes as another type, as in ``convert(v, np.int32)``.

    An integer that does not fit loses its upper bits; a float is truncated towards 0 and must fit.
    """
    if not isinstance(vector, Vector) or not isinstance(dtype, types.NumberClass):
        return None
    result = vector.of(dtype.instance_type)

    def build(context: Inner, builder: Inner, sig: Inner, args: Inner) -> Inner:
        return getattr(builder, _conversion(vector, result))(args[0], context.get_value_type(result))

    return result(vector, dtype), build


def _conversion(old: Vector, new: Vector) -> str:
    """Return the name of LLVM's operation."""
    grows = new.dtype.bitwidth > old.dtype.bitwidth
    if old.whole and new.whole:
        extend = "sext" if old.signed else "zext"
        same = "bitcast" if new.dtype.bitwidth == old.dtype.bitwidth else "trunc"
        return extend if grows else same
    if old.whole:
        return "sitofp" if old.signed else "uitofp"
    if new.whole:
        return "fptosi" if new.signed else "fptoui"
    return "fpext" if grows else "fptrunc"


@intrinsic
def bits(context: Inner, vector: Inner, dtype: Inner) -> Typed:
    """Return the same bits as lanes of another type, as in ``bits(v, np.uint64)``: the first lane in the lowest."""
    if not isinstance(vector, Vector) or not isinstance(dtype, types.NumberClass):
        return None
    other = dtype.instance_type
    result = Vector(other, vector.lanes * vector.dtype.bitwidth // other.bitwidth)

    def build(context: Inner, builder: Inner, sig: Inner, args: Inner) -> Inner:
        return builder.bitcast(args[0], context.get_value_type(result))

    return result(vector, dtype), build


@intrinsic
def select(context: Inner, condition: Inner, a: Inner, b: Inner) -> Typed:
    """Return the lanes of ``a`` where a comparison holds, and else those of ``b``."""
    if not _like(a, b) or condition != a.of(types.boolean):
        return None

    def build(context: Inner, builder: Inner, sig: Inner, args: Inner) -> Inner:
        return builder.select(*args)

    return a(condition, a, b), build


def _compare(builder: Inner, vector: Vector, sign: str, a: Inner, b: Inner) -> Inner:
    if not vector.whole:
        return builder.fcmp_ordered(sign, a, b)
    return builder.icmp_signed(sign, a, b) if vector.signed else builder.icmp_unsigned(sign, a, b)


def _extreme(sign: str, description: str) -> Inner:
    def choose(context: Inner, a: Inner, b: Inner) -> Typed:
        if not _like(a, b):
            return None

        def build(context: Inner, builder: Inner, sig: Inner, args: Inner) -> Inner:
            return builder.select(_compare(builder, a, sign, *args), *args)

        return a(a, b), build

    choose.__doc__ = description
    return intrinsic(choose)


smaller = _extreme("<", "Return the smaller number of each lane.")
larger = _extreme(">", "Return the larger number of each lane.")


def _operation(vector: Vector, name: str) -> str:
    """Return the name of LLVM's operation of an operator of Python."""
    if name == "rshift":
        return "ashr" if vector.signed else "lshr"
    if vector.whole:
        return {"lshift": "shl", "and": "and_", "or": "or_"}.get(name, name)
    return f"f{name}"


def _declare(operation: Callable[..., Inner], compares: bool, write: Callable[..., Inner]) -> None:
    """Teach Numba an operator between two vectors of one type."""

    @infer_global(operation)
    class _Template(AbstractTemplate):
        def generic(self, args: Inner, kws: Inner) -> Inner:
            if len(args) != 2 or not _like(*args):
                return None
            return signature(args[0].of(types.boolean) if compares else args[0], *args)

    @lower_builtin(operation, Vector, Vector)
    def _build(context: Inner, builder: Inner, sig: Inner, args: Inner) -> Inner:
        return write(builder, sig.args[0], *args)


def _declare_operators() -> None:
    for name in ("add", "sub", "mul", "and", "or", "xor", "lshift", "rshift"):

        def compute(builder: Inner, vector: Vector, a: Inner, b: Inner, name: str = name) -> Inner:
            return getattr(builder, _operation(vector, name))(a, b)

        _declare(getattr(operator, f"__{name}__"), False, compute)
        _declare(getattr(operator, f"__i{name}__"), False, compute)  # as in a += b
    for sign, name in (("<", "lt"), ("<=", "le"), (">", "gt"), (">=", "ge"), ("==", "eq"), ("!=", "ne")):
        _declare(getattr(operator, name), True, functools.partial(_write_comparison, sign))


def _write_comparison(sign: str, builder: Inner, vector: Vector, a: Inner, b: Inner) -> Inner:
    return _compare(builder, vector, sign, a, b)


_declare_operators()


@functools.cache
def explicit() -> bool | None:
    """Return ``True`` if kernels shall use explicit vectors, ``None`` if plain loops."""
    if os.environ.get("OODOMETER_VECTORS") == "0":
        return None
    probe = np.arange(64, dtype=np.uint16) * np.uint16(1000)
    try:
        _halve(probe)
    except Exception:  # whatever a compiler or a processor may say to it: the plain loops give the same pixels
        return None
    return True


@numba.njit(cache=True, nogil=True)
def _halve(numbers: np.ndarray) -> None:
    """Use what is most likely to fail."""
    store(numbers, 32, high_product(load(numbers, 0, 32), fill(np.uint16(32768), 32)))

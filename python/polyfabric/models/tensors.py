"""Tensors of a network that is being read: every number is a sum of matrices times earlier values.

Example: after `Gemm` and `Tanh` a tensor is the unit matrix times the result of layer 1; a `Gemm` behind it changes that matrix alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ProgramError
from .network import Floats, Layer, Sums
from .onnx_trees import MOST_NUMBERS

Indices = NDArray[np.intp]


def expect_room(rows: int, columns: int) -> None:
    """Refuses a matrix that takes more memory than one may."""
    if rows * columns > MOST_NUMBERS:
        raise ProgramError(
            f"the model has a matrix of {rows} x {columns}, but at most {MOST_NUMBERS} numbers are supported; use a smaller input, fewer filters, a "
            "larger stride, or a shorter sequence"
        )


@dataclass(frozen=True, eq=False)
class Tensor:
    """The numbers of one row, flat, as sums; with their shape, in which the row has an axis of size 1."""

    sums: Sums
    shape: tuple[int, ...]
    kind: np.dtype[Any]
    """The model's number type for it."""

    @property
    def size(self) -> int:
        """Number of numbers."""
        return len(self.sums.bias)

    @property
    def places(self) -> Indices:
        """The place of each number, in the tensor's shape."""
        return np.arange(self.size).reshape(self.shape)

    def at(self, places: Indices) -> Tensor:
        """The numbers at these places, in the places' shape."""
        flat = places.reshape(-1)
        for matrix in self.sums.terms.values():
            expect_room(len(flat), matrix.shape[1])
        terms = {source: matrix[flat] for source, matrix in self.sums.terms.items()}
        return replace(self, sums=Sums(terms, self.sums.bias[flat]), shape=places.shape)

    def times(self, factors: Floats | float) -> Tensor:
        """Each number times a public one."""
        each = np.broadcast_to(np.asarray(factors, dtype=float), self.shape).reshape(-1)
        terms = {source: matrix * each[:, None] for source, matrix in self.sums.terms.items()}
        return replace(self, sums=Sums(terms, self.sums.bias * each))

    def plus(self, numbers: Floats | float) -> Tensor:
        """Each number plus a public one."""
        each = np.broadcast_to(np.asarray(numbers, dtype=float), self.shape).reshape(-1)
        return replace(self, sums=Sums(self.sums.terms, self.sums.bias + each))

    def added(self, other: Tensor) -> Tensor:
        """The sums of two tensors of one shape."""
        terms = dict(self.sums.terms)
        for source, matrix in other.sums.terms.items():
            terms[source] = terms[source] + matrix if source in terms else matrix
        return replace(self, sums=Sums(terms, self.sums.bias + other.sums.bias))

    def total(self, axes: Sequence[int]) -> Tensor:
        """The sums along axes, which keep size 1."""
        first = np.moveaxis(self.places, axes, range(len(axes)))
        groups = first.reshape(-1, *first.shape[len(axes) :])
        terms = {
            source: matrix[groups].sum(axis=0).reshape(-1, matrix.shape[1])
            for source, matrix in self.sums.terms.items()
        }
        shape = tuple(1 if axis in axes else size for axis, size in enumerate(self.shape))
        return replace(self, sums=Sums(terms, self.sums.bias[groups].sum(axis=0).reshape(-1)), shape=shape)

    def transformed(self, matrix: Floats, shape: tuple[int, ...]) -> Tensor:
        """A public matrix times the numbers."""
        terms = {source: matrix @ own for source, own in self.sums.terms.items()}
        return replace(self, sums=Sums(terms, matrix @ self.sums.bias), shape=shape)

    def like(self, other: Tensor) -> Tensor:
        """Its numbers broadcast to the other's shape."""
        return self if self.shape == other.shape else self.at(np.broadcast_to(self.places, other.shape))


class Layers(list[Layer]):
    """The layers that were read."""

    def __init__(self) -> None:
        super().__init__()
        self._bounded: dict[Sums, Tensor] = {}

    def _appended(self, layer: Layer, like: Tensor) -> Tensor:
        self.append(layer)
        size = len(layer.sums.bias)
        expect_room(size, size)
        return replace(like, sums=Sums({len(self): np.eye(size)}, np.zeros(size)))

    def function(
        self, tensor: Tensor, function: Callable[[Floats], Floats], name: str, *, one_sided: bool = False
    ) -> Tensor:
        """A function of each number. `one_sided`: see `Layer`. A function of another's results becomes one with it, such as 1 / sqrt(x)."""
        found = self._inner(tensor)
        if found is not None and (found[0].one_sided or not one_sided):
            inner, places = found
            first = inner.activation
            assert first is not None
            terms = {source: matrix[places] for source, matrix in inner.sums.terms.items()}
            both = Layer(
                Sums(terms, inner.sums.bias[places]), lambda u: function(first(u)), None, name, inner.one_sided
            )
            return self._appended(both, tensor)
        return self._appended(Layer(tensor.sums, function, name=name, one_sided=one_sided), tensor)

    def bounded(self, tensor: Tensor, name: str) -> Tensor:
        """The numbers as an operand of products: see `Layer.bounding`. Results of functions have their bounds already."""
        if tensor.sums not in self._bounded:
            known = self._inner(tensor) is not None
            layer = Layer(tensor.sums, lambda u: u, name=name, bounding=True)
            self._bounded[tensor.sums] = tensor if known else self._appended(layer, tensor)
        return replace(tensor, sums=self._bounded[tensor.sums].sums)

    def _inner(self, tensor: Tensor) -> tuple[Layer, Indices] | None:
        """The layer with a function whose results the numbers are, each at its place among them; `None` if there is none."""
        if len(tensor.sums.terms) != 1 or np.any(tensor.sums.bias):
            return None
        ((source, matrix),) = tensor.sums.terms.items()
        layer = self[source - 1] if source else None
        if layer is None or layer.activation is None:
            return None
        places = np.argmax(matrix, axis=1)
        alone = np.count_nonzero(matrix, axis=1) == 1
        return (layer, places) if alone.all() and np.all(matrix[np.arange(len(places)), places] == 1) else None

    def product(self, a: Tensor, b: Tensor, name: str) -> Tensor:
        """The products of the numbers of two tensors, broadcast; of a tensor with itself, squares."""
        same = a is b
        a = self.bounded(a, f"{name}.operand" if same else f"{name}.left")
        if same:
            return self._appended(Layer(a.sums, factor=a.sums), a)
        b = self.bounded(b, f"{name}.right")
        shape = np.broadcast_shapes(a.shape, b.shape)
        a, b = (one.at(np.broadcast_to(one.places, shape)) for one in (a, b))
        return self._appended(Layer(a.sums, factor=b.sums), a)

    def read_by_the_last(self) -> tuple[Layer, ...]:
        """The layers that the last one depends on. A product that was replaced by one function leaves unread layers."""
        kept, wanted = [], {len(self)}
        for number in range(len(self), 0, -1):
            if number in wanted:
                kept.append(number)
                for sums in self[number - 1].parts():
                    wanted |= sums.terms.keys()
        kept.reverse()
        renamed = {0: 0, **{number: place for place, number in enumerate(kept, 1)}}

        def rename(sums: Sums) -> Sums:
            return Sums({renamed[source]: matrix for source, matrix in sums.terms.items()}, sums.bias)

        return tuple(self[number - 1].changed(rename) for number in kept)

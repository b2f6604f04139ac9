"""Encrypted texts: vectors of bytes with comparisons and searches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn, cast

from . import digits, types
from .digits import Digits
from .indices import picked
from .instead import TEXTS, Absences, written
from .lowering import split
from .place import refuse
from .public_operands import Public
from .reference import means
from .types import MOST_BITS, TextType, text_bytes
from .values import TfheValue

BYTE = (8, False)
"""The width of a byte."""


class Text(TfheValue):
    """An encrypted text: bytes, padded with zeros to the length of its type."""

    __slots__ = ()
    __hash__ = Absences.__hash__
    form: Digits

    @property
    def type(self) -> TextType:
        """Length and kind of the text."""
        return types.Text(self.form.length)

    def _instead(self, name: str, operands: int) -> str:  # noqa: ARG002 - as of all values
        return (
            written(TEXTS, name, self.type)
            or "a text has ==, <, .startswith, .endswith, .contains, .upper and .lower; compute on its bytes, x.encode()"
        )

    def __contains__(self, part: object) -> bool:
        raise refuse(
            f"`in` returns a Python bool, but whether {part!r} is in an encrypted text is encrypted; use text.contains(part)"
        )

    def encode(self) -> TfheValue:
        """The bytes, as a vector of `pf.UInt(8)`; those after the end of the text are 0."""
        return self._taken(list(range(self.length)), scalar=False)

    def upper(self) -> Text:
        """The text with the letters a to z in upper case; other characters stay."""
        return self._shifted("a", "z", ord("A") - ord("a"))

    def lower(self) -> Text:
        """The text with the letters A to Z in lower case; other characters stay."""
        return self._shifted("A", "Z", ord("a") - ord("A"))

    def _shifted(self, first: str, last: str, by: int) -> Text:
        """The text with `by` added to the bytes from `first` to `last`."""
        from .functions import where

        own = self.encode()
        chosen = where((own >= ord(first)) & (own <= ord(last)), own + by, own)
        made = Text(cast(Digits, chosen.form))
        made.meaning = chosen.meaning
        return made

    def __getitem__(self, index: Any) -> TfheValue:  # noqa: ANN401 - see `TfheValue`
        if not isinstance(index, slice):
            return super().__getitem__(index)
        places, _ = picked(index, self.length, self.type)
        if not places or places[-1] - places[0] != len(places) - 1:
            shown = ":".join("" if end is None else str(end) for end in (index.start, index.stop, index.step))
            raise refuse(
                f"[{shown}] of a {self.type} is not a part of it, with at least one byte; give x[i:j], or select among its bytes, x.encode()[i:j:step]"
            )
        return self._part(places)

    @means("take")
    def _part(self, places: list[int]) -> Text:
        """The bytes at consecutive places, as a text."""
        return Text(self.form.taken(places))

    def _characters(self, text: Text | str | bytes, length: int | None = None) -> Digits:
        if isinstance(text, Text):
            return text.form
        given = self._public(text)
        wanted = len(given) if length is None else length
        if not given and length is None:
            raise refuse("the part is an empty text, which every text contains; give at least one byte")
        if len(given) > wanted:
            raise refuse(f"{text!r} has {len(given)} bytes, but at most {self.length} are compared; shorten it")
        return self._bytes(list(given.ljust(wanted, b"\0")))

    def _bytes(self, numbers: list[int]) -> Digits:
        return Digits.public(self._tracer, BYTE, Public(numbers, scalar=False))

    @staticmethod
    def _public(text: object) -> bytes:
        """The bytes of a public text."""
        if not isinstance(text, str | bytes):
            raise refuse(
                f"a text cannot be compared with {type(text).__name__}; give a str, bytes or an encrypted text"
            )
        return text_bytes(text)

    def operand(self, other: object) -> NoReturn:
        """Always an error: operations on integers do not take texts."""
        self._no_arithmetic(other)

    def _no_arithmetic(self, *_: object, **__: object) -> NoReturn:
        raise refuse("a text has no arithmetic and no bits; compute on its bytes, x.encode()")

    __neg__ = __pos__ = __abs__ = __pow__ = __invert__ = sum = bit = cast = assume = _no_arithmetic  # type: ignore[assignment]

    def _whole(self, other: object) -> Digits:
        """The bytes of another text of this length."""
        if isinstance(other, Text) and len(other) != len(self):
            raise refuse(f"the texts have {len(self)} and {len(other)} bytes; declare them with one length")
        return self._characters(cast("Text | str", other), self.length)

    @means("text ==")
    def __eq__(self, other: object) -> TfheValue:  # type: ignore[override]
        return TfheValue(self._equal(other))

    @means("text !=")
    def __ne__(self, other: object) -> TfheValue:  # type: ignore[override]
        return TfheValue(~self._equal(other))

    def _equal(self, other: object) -> Digits:
        return self.form.compared("==", self._whole(other)).holds([range(self.length)], any_of=False)

    def _before(self, op: str, other: object) -> TfheValue:
        """Compares texts as big-endian integers, which is the order of their UTF-8 bytes."""
        size, most = self.length, MOST_BITS // 8
        if size > most:
            raise refuse(
                f"a text of {size} bytes is too long to order, which takes at most {most}; declare a part of it as a separate input, and compare that"
            )
        one, another = (
            digits.total(
                [
                    bytes_.taken([i], scalar=True).as_((8 * size, False)).shifted("<<", 8 * (size - 1 - i))
                    for i in range(size)
                ]
            )
            for bytes_ in (self.form, self._whole(other))
        )
        return TfheValue(one.compared(op, another))

    @means("text <")
    def __lt__(self, other: Text | str | bytes) -> TfheValue:  # type: ignore[override]
        return self._before("<", other)

    @means("text <=")
    def __le__(self, other: Text | str | bytes) -> TfheValue:  # type: ignore[override]
        return self._before("<=", other)

    @means("text >")
    def __gt__(self, other: Text | str | bytes) -> TfheValue:  # type: ignore[override]
        return self._before(">", other)

    @means("text >=")
    def __ge__(self, other: Text | str | bytes) -> TfheValue:  # type: ignore[override]
        return self._before(">=", other)

    def _matches(self, part: Text | str | bytes, offsets: Sequence[int]) -> Digits:
        """For each offset, whether `part` matches there. Trailing zeros of an encrypted part match anything, even beyond the text."""
        pattern = self._characters(part)
        size = pattern.length
        if size > self.length:
            raise refuse(f"the part has {size} bytes, but the text has {self.length}; give a shorter part")
        places = [offset + i for offset in offsets for i in range(size)]
        own = self.form.taken([min(place, self.length - 1) for place in places])
        wanted = pattern.taken([i for _ in offsets for i in range(size)])
        fits = own.compared("==", wanted)
        if isinstance(part, Text):
            beyond = [int(place < self.length) for place in places]
            fits = fits if all(beyond) else fits.logic("&", Public(beyond, scalar=False))
            fits = fits.logic("|", wanted.compared("==", Public([0], scalar=True)))
        rows = [range(at * size, (at + 1) * size) for at in range(len(offsets))]
        return fits.holds(rows, any_of=False, scalar=False)

    @means("text startswith")
    def startswith(self, part: Text | str | bytes) -> TfheValue:
        """Whether the text starts with `part`, ignoring trailing zeros of an encrypted part."""
        return TfheValue(self._matches(part, [0]).taken([0], scalar=True))

    @means("text endswith")
    def endswith(self, part: Text | str | bytes) -> TfheValue:
        """Whether the text ends with `part`, ignoring trailing zeros of both."""
        if isinstance(part, Text):
            size, wanted = part.length, None
        else:
            size, wanted = self._characters(part).length, [*self._public(part), 0]
        length = self.length
        if size > length:
            raise refuse(f"the part has {size} bytes, but the text has {length}; give a shorter part")
        # At each offset: the bytes of the part, then zeros, which also follow the text without limit.
        offsets = range(length + 1 if wanted is None else length - size + 1)
        rows = [[at + i for i in range(size + 1) if wanted is None or at + i < length] for at in offsets]
        places = [(at, place) for at, row in zip(offsets, rows, strict=True) for place in row]
        zero = self._bytes([0])
        own = digits.joined([self.form, zero]).taken([min(place, length) for _, place in places])
        if wanted is None:
            found = digits.joined([cast(Text, part).form, zero]).taken([place - at for at, place in places])
        else:
            found = self._bytes([wanted[place - at] for at, place in places])
        ends, groups = 0, []
        for row in rows:
            groups.append(range(ends, ends + len(row)))
            ends += len(row)
        matches = own.compared("==", found).holds(groups, any_of=False, scalar=False)
        return TfheValue(matches.holds([range(matches.length)], any_of=True))

    @means("text contains")
    def contains(self, part: Text | str | bytes) -> TfheValue:
        """Whether the text contains `part`, ignoring trailing zeros of an encrypted part."""
        size = part.length if isinstance(part, Text) else len(self._public(part))
        if size > self.length:
            raise refuse(f"the part has {size} bytes, but the text has {self.length}; give a shorter part")
        # An encrypted part may be shorter than its type, so it may begin anywhere.
        offsets = range(self.length if isinstance(part, Text) else self.length - size + 1)
        matches = self._matches(part, offsets)
        return TfheValue(matches.holds([range(matches.length)], any_of=True))


def chosen_text(condition: TfheValue, then: Text | str, otherwise: Text | str) -> Text:
    """`then` if the condition holds, else `otherwise`."""
    if not condition.type.scalar:
        raise refuse(
            f"where: the condition is {condition.type}, but a text is chosen by one; choose among the bytes, as pf.where(c, x.encode(), y.encode())"
        )
    texts = [choice for choice in (then, otherwise) if isinstance(choice, Text)]
    if texts:
        of = texts[0]
        a, b = (of._characters(choice, of.length) for choice in (then, otherwise))
    else:
        given = [text_bytes(cast(str, choice)) for choice in (then, otherwise)]
        length = max(1, *map(len, given))
        a, b = (
            Digits.public(condition._tracer, BYTE, Public(list(text.ljust(length, b"\0")), scalar=False))
            for text in given
        )
    own: Any = split(condition.form)
    return Text(own.chosen(a, b))


def extreme_text(op: str, a: Text, b: Text | str) -> Text:
    """The greater or the lesser of two texts."""
    return chosen_text(a > b if op == "max" else a < b, a, b)

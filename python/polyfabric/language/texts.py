"""Encrypted texts: vectors of bytes with an order, and parts that are looked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn, cast

from .instead import TEXTS, Absences, written
from .integers import Integer, joined, public, total
from .place import refuse
from .reference import means
from .types import MOST_BITS, TextType, UInt, text_bytes


class Text(Integer):
    """An encrypted text of at most so many bytes, filled up with zeros."""

    __slots__ = ()
    __hash__ = Absences.__hash__

    def _instead(self, name: str, operands: int) -> str:  # noqa: ARG002 - as of all values
        return (
            written(TEXTS, name, self.kind)
            or "a text has ==, <, .startswith, .endswith and .contains; compute on its bytes, x[:]"
        )

    @classmethod
    def of(cls, characters: Integer) -> Text:
        """The text of these bytes."""
        text = cls.__new__(cls)
        text._tracer, text.handle, text._span, text.meaning = characters._tracer, characters.handle, None, None
        text.kind = TextType(8, length=characters.kind.length, scalar=False)
        return text

    def __contains__(self, part: object) -> bool:
        raise refuse(
            f"whether {part!r} is in an encrypted text is itself encrypted, and `in` gives none; use text.contains(part)"
        )

    def _characters(self, text: Text | str | bytes, length: int | None = None) -> Integer:
        if isinstance(text, Text):
            return text
        given = self._public(text)
        wanted = len(given) if length is None else length
        if not given and length is None:
            raise refuse("an empty text is in every other and starts it; give at least one byte")
        if len(given) > wanted:
            raise refuse(f"{text!r} is {len(given)} bytes, where at most {self.kind.length} are compared; shorten it")
        return public(self._tracer, UInt(8).vector(wanted), list(given.ljust(wanted, b"\0")))

    @staticmethod
    def _public(text: object) -> bytes:
        """The bytes of a public text."""
        if not isinstance(text, str | bytes):
            raise refuse(f"a text does not compare with {type(text).__name__}; give a str, bytes or an encrypted text")
        return text_bytes(text)

    def _plain(self) -> Integer:
        return Integer(self._tracer, self.handle, scalar=False)

    def _no_arithmetic(self, *_: object, **__: object) -> NoReturn:
        raise refuse("a text has no arithmetic, and no bits; compute on its bytes, x[:]")

    _operand = __neg__ = __pos__ = __abs__ = __pow__ = __invert__ = __divmod__ = _shift = sum = _no_arithmetic  # type: ignore[assignment]

    def _whole(self, other: object) -> Integer:
        """The bytes of another text of this length."""
        if isinstance(other, Text) and len(other) != len(self):
            raise refuse(f"texts of {len(self)} and {len(other)} bytes; declare them with one length")
        return plain(self._characters(cast("Text | str", other), self.kind.length))

    @means("text ==")
    def __eq__(self, other: object) -> Integer:  # type: ignore[override]
        return Integer.__eq__(self._plain(), self._whole(other)).all()

    @means("text !=")
    def __ne__(self, other: object) -> Integer:  # type: ignore[override]
        return ~(self == other)

    def _before(self, op: str, other: object) -> Integer:
        """Texts are ordered as the integers whose bytes they are, the first the highest: as by their bytes in UTF-8."""
        size, most = self.kind.length, MOST_BITS // 8
        if size > most:
            raise refuse(
                f"a text of {size} bytes has no order, one of {most} has; compare a part of it, declared for itself"
            )
        kind = UInt(8 * size)
        one, another = (
            total([bytes_[i].cast(kind) << 8 * (size - 1 - i) for i in range(size)])
            for bytes_ in (self._plain(), self._whole(other))
        )
        return one._binary(op, another)

    @means("text <")
    def __lt__(self, other: Text | str | bytes) -> Integer:  # type: ignore[override]
        return self._before("<", other)

    @means("text <=")
    def __le__(self, other: Text | str | bytes) -> Integer:  # type: ignore[override]
        return self._before("<=", other)

    @means("text >")
    def __gt__(self, other: Text | str | bytes) -> Integer:  # type: ignore[override]
        return self._before(">", other)

    @means("text >=")
    def __ge__(self, other: Text | str | bytes) -> Integer:  # type: ignore[override]
        return self._before(">=", other)

    def _matches(self, part: Text | str | bytes, offsets: Sequence[int]) -> Integer:
        """For each offset, whether the bytes from it on are those of `part`; zeros at the end of an encrypted one fit anything, beyond the text too."""
        pattern = self._characters(part)
        size = pattern.kind.length
        if size > self.kind.length:
            raise refuse(f"a part of {size} bytes in a text of {self.kind.length}; give one that fits")
        places = [offset + i for offset in offsets for i in range(size)]
        own = self._plain()._taken([min(place, self.kind.length - 1) for place in places], scalar=False)
        wanted = plain(pattern)._taken([i for _ in offsets for i in range(size)], scalar=False)
        fits = Integer.__eq__(own, wanted)
        if isinstance(part, Text):
            beyond = [int(place < self.kind.length) for place in places]
            fits = (fits if all(beyond) else fits & beyond) | (wanted == 0)
        rows = [range(at * size, (at + 1) * size) for at in range(len(offsets))]
        return fits._holds(rows, any_of=False, scalar=False)

    @means("text startswith")
    def startswith(self, part: Text | str | bytes) -> Integer:
        """Whether the text starts with `part`; the zeros at the end of an encrypted one do not count."""
        return self._matches(part, [0])[0]

    @means("text endswith")
    def endswith(self, part: Text | str | bytes) -> Integer:
        """Whether the text ends with `part`; the zeros at the end of either do not count."""
        if isinstance(part, Text):
            size, wanted = part.kind.length, None
        else:
            size, wanted = self._characters(part).kind.length, [*self._public(part), 0]
        length = self.kind.length
        if size > length:
            raise refuse(f"a part of {size} bytes in a text of {length}; give one that fits")
        # From each offset on: the bytes of the part, and then zeros, of which there are any number behind the text.
        offsets = range(length + 1 if wanted is None else length - size + 1)
        rows = [[at + i for i in range(size + 1) if wanted is None or at + i < length] for at in offsets]
        places = [(at, place) for at, row in zip(offsets, rows, strict=True) for place in row]
        zero = public(self._tracer, UInt(8).vector(1), [0])
        own = joined([self._plain(), zero])._taken([min(place, length) for _, place in places], scalar=False)
        if wanted is None:
            found = joined([plain(cast(Text, part)), zero])._taken([place - at for at, place in places], scalar=False)
        else:
            found = public(self._tracer, UInt(8).vector(len(places)), [wanted[place - at] for at, place in places])
        ends, groups = 0, []
        for row in rows:
            groups.append(range(ends, ends + len(row)))
            ends += len(row)
        return Integer.__eq__(own, found)._holds(groups, any_of=False, scalar=False).any()

    @means("text contains")
    def contains(self, part: Text | str | bytes) -> Integer:
        """Whether `part` is somewhere in the text; the zeros at the end of an encrypted one do not count."""
        size = part.kind.length if isinstance(part, Text) else len(self._public(part))
        if size > self.kind.length:
            raise refuse(f"a part of {size} bytes in a text of {self.kind.length}; give one that fits")
        # An encrypted part may be shorter than its type, and so begin anywhere.
        offsets = range(self.kind.length if isinstance(part, Text) else self.kind.length - size + 1)
        return self._matches(part, offsets).any()


def plain(characters: Integer) -> Integer:
    """The bytes of a text."""
    return characters._plain() if isinstance(characters, Text) else characters

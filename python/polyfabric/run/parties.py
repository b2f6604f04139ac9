"""Several owners of the keys of one program, who decrypt together (CKKS and BGV).

    spec = pf.Specification.of(program, parties=3)
    party = pf.Party(spec, 0, reference)                 # each of the three, with its own index
    first = party.first_message()                        # bytes to all others
    second = party.second_message([first, ..])           # for the first messages of all three
    keys = pf.JointKeys(spec, reference, [first, ..], [second, ..])    # anyone
    answer = pf.Server(program, keys.evaluation_key, parties=3).execute(request)
    pf.decrypt_jointly(spec, reference, answer, [party.share(answer), ..])

All parties decrypt together, unless they exchange shares of their secrets, so that any two of the three do:

    shares = party.secret_shares(2)                      # shares[j] to party j alone, over a channel that nobody else reads
    party.take_shares([theirs[party.index], ..])         # what all three sent to this one
    pf.decrypt_jointly(spec, reference, answer, [party.share(answer, among=[0, 2]), ..])    # of parties 0 and 2

Nobody has the secret key: it is the sum of the parties' secrets. The protocols assume that all parties follow them (docs/threat-model.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

from .. import _native
from ..errors import InputError, ParameterError, shown
from ..host.files import bytes_of, path_of, write_new
from ..language.shapes import value_of
from ..schemes.context import LARGEST_KEY, STANDARD_SECURITY, content
from ..schemes.lanes import LaneContext
from ..schemes.rns import SlotContext
from .messages import OUTPUTS, Ciphertexts, EvaluationKey, PublicKey, expect_kind
from .specification import Specification

MESSAGE_KINDS = ("Message",)
"""Rust name of the kind of the parties' messages."""

DEAL_KINDS = ("Deal",)
"""Of secret shares."""


class Party:
    """One of the owners of a program's keys: makes its messages from a secret of its own."""

    def __init__(
        self,
        specification: Specification,
        index: int,
        reference: bytes | str,
        *,
        security: float = STANDARD_SECURITY,
        max_key_bytes: int = LARGEST_KEY,
    ) -> None:
        """Party number `index`, from 0, with a secret from the operating system's randomness.

        `reference` is any text or bytes that all parties agreed on, for one set of keys: public polynomials come from it. It is not secret, but no
        party may choose it alone. Specifications come from others: one with less than `security` bits, or with an evaluation key of more
        than `max_key_bytes`, is rejected."""
        self._begin(specification, reference, security, max_key_bytes)
        if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < self._session.parties:
            raise InputError(
                f"index={shown(index)}; this specification has {self._session.parties} parties, 0 to {self._session.parties - 1}"
            )
        self._party = self._session.party(index)

    def _begin(self, specification: Specification, reference: bytes | str, security: float, max_key_bytes: int) -> None:
        self._session = _session(specification, reference)
        specification.expect_security(security)
        specification.expect_key_bytes(max_key_bytes)
        self.specification = specification

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a party does not pickle; write its secret with party.save(path), and read it with pf.Party.load(specification, path, reference)"
        )

    def __repr__(self) -> str:
        return f"<party {self.index} of {self._session.parties} of {self.specification.program_name}>"

    @property
    def index(self) -> int:
        """Its number, from 0."""
        return self._party.index

    def _expect_memory(self, messages: int) -> None:
        context = _context(self.specification)
        context.expect_memory(messages * context.key_bytes)

    def first_message(self) -> bytes:
        """Its part of the joint keys, to send to all others; always the same bytes."""
        self._expect_memory(2)
        return self._party.first()

    def second_message(self, first_messages: Sequence[bytes]) -> bytes:
        """Its second part, for the first messages of all parties, its own included, in any order. A party answers one set of them only."""
        self._expect_memory(self._session.parties)
        return self._party.second(_messages(first_messages, "first messages"))

    def secret_shares(self, threshold: int) -> list[bytes]:
        """Its secret for each party, its own included, such that any `threshold` parties can decrypt: from 2 to one less than all. Possible after
        `second_message`, and always the same bytes. **Each is a secret of its receiver**: send it to that party alone, encrypted."""
        if not isinstance(threshold, int) or isinstance(threshold, bool) or not 0 <= threshold < 1 << 32:
            raise InputError(f"threshold={shown(threshold)}; give how many parties decrypt together")
        self._expect_memory(self._session.parties)
        return self._party.deal(threshold)

    def take_shares(self, shares: Sequence[bytes]) -> None:
        """Keeps what all parties, itself included, have dealt to this one with one threshold, in any order. Afterwards `save` the party anew, under another name."""
        self._party.take(_messages(shares, "secret shares", DEAL_KINDS, "send the secret share for this party"))

    def share(self, answer: Ciphertexts, *, among: Sequence[int] | None = None) -> bytes:
        """Its share of the decryption of an answer, to send to whoever may read the result.

        `among` are the numbers of the parties that decrypt, as many as the threshold; without it all decrypt. The share hides the error of the
        ciphertext with the specification's smudging noise. The noise follows from ciphertext and parties, so the same request gives the
        same bytes. An answer for other keys, or before `second_message`, is rejected."""
        if among is not None and not (
            isinstance(among, Sequence)
            and all(isinstance(one, int) and not isinstance(one, bool) and 0 <= one < 1 << 32 for one in among)
        ):
            raise InputError(f"among={shown(among)}; give the numbers of the parties that decrypt, from 0")
        chosen = None if among is None else list(among)
        return self._party.share(_outputs(self.specification, answer), chosen)

    def save(self, path: str | Path) -> None:
        """Writes its secret, and what it has taken, atomically, readable only by its owner. Does not replace other files. It is complete after
        `second_message`; before, saving is refused, as two copies could answer different messages."""
        write_new(path_of(path), self._party.save)

    @classmethod
    def load(
        cls,
        specification: Specification,
        path: str | Path,
        reference: bytes | str,
        *,
        security: float = STANDARD_SECURITY,
        max_key_bytes: int = LARGEST_KEY,
    ) -> Party:
        """The party that `save` wrote, for the same specification and reference."""
        made = cls.__new__(cls)
        made._begin(specification, reference, security, max_key_bytes)
        made._party = made._session.load_party(path_of(path))
        return made


class JointKeys:
    """The public and evaluation keys of several owners, from their messages. They decrypt nothing."""

    def __init__(
        self,
        specification: Specification,
        reference: bytes | str,
        first_messages: Sequence[bytes],
        second_messages: Sequence[bytes],
    ) -> None:
        """From the messages of all parties in both rounds, in any order. Messages of other programs, parties or runs are rejected."""
        session = _session(specification, reference)
        self.specification = specification
        self._public, self._server = session.keys(
            _messages(first_messages, "first messages"), _messages(second_messages, "second messages")
        )

    def __repr__(self) -> str:
        return f"<joint keys of {self.specification.program_name}>"

    @cached_property
    def public_key(self) -> PublicKey:
        """With it anybody encrypts: `pf.Encryptor(specification, keys.public_key)`."""
        return PublicKey(content(self._public.save()))

    @cached_property
    def evaluation_key(self) -> EvaluationKey:
        """The keys for the server."""
        return EvaluationKey(content(self._server.save()))


def decrypt_jointly(
    specification: Specification, reference: bytes | str, answer: Ciphertexts, shares: Sequence[bytes]
) -> Any:  # noqa: ANN401 - whatever the program's function returns
    """What the program's function returns, from the shares of all parties, or of those that the shares are made for, in any order.

    Shares for another answer are rejected, and so are values that no execution of the program gives."""
    session, context = _session(specification, reference), _context(specification)
    found = session.decrypt(_outputs(specification, answer), context.real_outputs, _messages(shares, "shares"))
    return value_of(context.shapes.shaped(found))


def _context(specification: Specification) -> SlotContext:
    context = specification.context
    joint = isinstance(context, SlotContext) and not isinstance(context, LaneContext)
    if not joint or context.parameters.to_dict()["parties"] == 1:
        raise ParameterError(
            f"the specification of {specification.program_name} is for one owner of the keys; make it with "
            "pf.Specification.of(program, parties=3), or use a pf.Client"
        )
    return context


def _session(specification: Specification, reference: bytes | str) -> _native.JointSession:
    if not isinstance(specification, Specification):
        raise InputError(
            f"several owners need a specification, not a {type(specification).__name__}; give pf.Specification.of(program, parties=3)"
        )
    if not isinstance(reference, bytes | str) or not reference:
        raise InputError(f"reference={shown(reference)}; give a text or bytes that all parties agreed on")
    try:
        agreed = reference.encode() if isinstance(reference, str) else reference
    except UnicodeEncodeError:
        raise InputError(f"reference={shown(reference)} has half a surrogate pair; give text, or bytes") from None
    return _native.JointSession(_context(specification).signature, agreed)


def _messages(
    messages: Sequence[bytes],
    what: str,
    kinds: Sequence[str] = MESSAGE_KINDS,
    remedy: str = "send the message that the party made",
) -> list[bytes]:
    if isinstance(messages, bytes | str) or not isinstance(messages, Sequence):
        raise InputError(f"{what} are {type(messages).__name__}; give a list with the bytes of each party")
    found = [bytes_of(message, f"{what}[{place}]") for place, message in enumerate(messages)]
    for place, message in enumerate(found):
        expect_kind(message, f"{what}[{place}]", kinds, remedy)
    return found


def _outputs(specification: Specification, answer: Ciphertexts) -> _native.RnsCiphertexts:
    if not isinstance(answer, Ciphertexts) or answer.ending != OUTPUTS:
        raise InputError(f"an answer is {shown(answer)}; give the pf.Ciphertexts of the server's answer")
    return _context(specification).read(dict(answer.parts), outputs=True)

"""A native module that is older than the Python half of the package raises an error with the command that builds it again."""

from __future__ import annotations

import polyfabric as pf
import pytest
from polyfabric import _native
from polyfabric.host.native_module import OutdatedError, lacking
from rejects import rejects


@pf.program(x=pf.Real.vector(4))
def squares(x: pf.Value) -> pf.Value:
    return x * x


def test_a_missing_name_is_an_older_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(_native, "RnsPlan")
    with rejects(OutdatedError, "RnsPlan", "make install"):
        squares.cost()


def test_a_missing_method_is_an_older_module() -> None:
    with pytest.raises(AttributeError) as found:
        squares.native.of_a_later_version  # noqa: B018 - it fails
    older = lacking(found.value)
    assert older is not None
    assert "RnsProgram.of_a_later_version" in str(older)
    assert lacking(AttributeError("x", name="y", obj=3)) is None


def test_other_modules_may_look_for_protocols() -> None:
    assert not hasattr(_native, "__path__")

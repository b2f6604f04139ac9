"""Connections to Dask clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import RunError

if TYPE_CHECKING:
    from distributed import Client


def connected(address: str, option: str) -> Client:
    """A client of the Dask cluster with this scheduler, which `option` of the command line named."""
    try:
        from distributed import Client
    except ImportError as error:
        raise RunError(f"{option} needs dask.distributed; install it: pip install 'polyfabric[dask]'") from error
    try:
        return Client(address, timeout="10s", set_as_default=False)
    except (OSError, ValueError) as error:
        raise RunError(f"there is no Dask scheduler at {address} ({error}); give the address that it prints") from error

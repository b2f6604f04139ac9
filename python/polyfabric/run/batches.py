"""`program.map`: one program on many encrypted inputs, here or on the workers of a Dask cluster."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from itertools import islice
from threading import Event
from typing import TYPE_CHECKING, Any

from ..errors import InputError, shown
from ..host.progress import ProgressHook, expect_hook
from ..language.traced import TracedProgram
from .client_server import Client, Server
from .cluster import Cluster, ClusterServer
from .messages import Ciphertexts
from .specification import Specification, served

if TYPE_CHECKING:
    import distributed

AHEAD = 2
"""Batches that are sent for each execution that is possible at a time, so that no worker waits for the next."""


def mapped(
    program: TracedProgram,
    inputs: Iterable[Mapping[str, Any]],
    client: distributed.Client | None,
    parameters: str | None,
    progress: ProgressHook | None,
) -> list[Any]:
    """See `Program.map`."""
    expect_hook(progress)
    if isinstance(inputs, Mapping | str) or not isinstance(inputs, Iterable):
        raise InputError(f"{program.name}: inputs={shown(inputs):.80}; give a list of dictionaries, one for each run")
    if client is not None and not hasattr(client, "scatter"):
        raise InputError(
            f"{program.name}: client={shown(client):.80}; give the client of a Dask cluster, distributed.Client('tcp://SCHEDULER:8786')"
        )
    if client is not None and (client.status != "running" or client.asynchronous):
        raise InputError(
            f"{program.name}: the client of the Dask cluster is {'asynchronous' if client.asynchronous else client.status}; give one that is connected, "
            "distributed.Client('tcp://SCHEDULER:8786')"
        )
    planned = served(program, parameters)
    own = Client(Specification._of(planned), security=0)
    key = own.make_evaluation_key(progress)
    total = len(inputs) if hasattr(inputs, "__len__") else 0
    found: list[Any] = []

    def received(answer: Ciphertexts) -> None:
        found.append(own.decrypt(answer))
        if progress is not None:
            progress("batch", len(found), total)

    def encrypted() -> Iterator[Ciphertexts]:
        for one in inputs:
            # Reports values that break a promise of the program, which decrypt to others.
            planned.evaluate(planned.program.flatten(one))
            yield own.encrypt(one)

    if client is None:
        server = Server._of(planned, key, None)
        for batch in _batches(encrypted(), server.together, 1):
            for answer in server.execute_batch(batch):
                received(answer)
        return found
    with closing(Cluster(client)) as cluster:
        _executed(cluster.server(cluster.program(planned), key), max(1, cluster.slots), encrypted(), received)
    return found


def _batches(requests: Iterator[Ciphertexts], together: int, slots: int) -> Iterator[list[Ciphertexts]]:
    """Lists of at most `together` requests. The last ones are shared out evenly, so that no slot has all of them."""
    while some := list(islice(requests, together * slots)):
        size = -(-len(some) // slots)
        for first in range(0, len(some), size):
            yield some[first : first + size]


def _executed(
    server: ClusterServer, slots: int, requests: Iterator[Ciphertexts], received: Callable[[Ciphertexts], None]
) -> None:
    """Calls `received` with the answer to each request, in order, on workers that do `slots` executions at a time."""
    cancel, sent = Event(), deque[Future[list[Ciphertexts]]]()

    def receive() -> None:
        for answer in sent.popleft().result():
            received(answer)

    with ThreadPoolExecutor(AHEAD * slots) as pool:
        try:
            for batch in _batches(requests, server.together, slots):
                if len(sent) == AHEAD * slots:
                    receive()
                sent.append(pool.submit(server.execute_batch, batch, cancel=cancel))
            while sent:
                receive()
        except BaseException:
            cancel.set()
            for future in sent:
                future.cancel()
            raise

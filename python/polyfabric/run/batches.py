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
"""Requests that are sent for each execution that is possible at a time, so that no worker waits for the next."""


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
            planned.evaluate(program.flatten(one))
            yield own.encrypt(one)

    if client is None:
        server, requests = Server._of(planned, key, None), encrypted()
        while batch := list(islice(requests, server.together)):
            for answer in server.execute_batch(batch):
                received(answer)
        return found
    with closing(Cluster(client)) as cluster:
        _executed(cluster.server(cluster.program(planned), key), AHEAD * max(1, cluster.slots), encrypted(), received)
    return found


def _executed(
    server: ClusterServer, at_once: int, requests: Iterable[Ciphertexts], received: Callable[[Ciphertexts], None]
) -> None:
    """Calls `received` with the answer to each request, in order, with `at_once` of them on their way."""
    cancel, sent = Event(), deque[Future[Ciphertexts]]()
    with ThreadPoolExecutor(at_once) as pool:
        try:
            for request in requests:
                if len(sent) == at_once:
                    received(sent.popleft().result())
                sent.append(pool.submit(server.execute, request, cancel=cancel))
            while sent:
                received(sent.popleft().result())
        except BaseException:
            cancel.set()
            for future in sent:
                future.cancel()
            raise

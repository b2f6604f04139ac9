"""The HTTP application: programs, keys and requests of tenants. `openapi.py` describes its addresses.

A tenant's key `ada` is the client `ada@TENANT` of the program's `KeyStore`, so no address reaches another tenant's key.
"""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from ..errors import CancelledError, FileError, InputError, ParameterError, RunError
from ..host.computer import cores
from ..host.files import made_folder
from ..language.traced import TracedProgram
from ..run.cluster import Cluster
from ..run.key_memory import Executor, KeyMemory
from ..run.messages import Ciphertexts
from ..run.store import KeyStore
from .access import GRACE, SLOWEST, Guard, Rate
from .events import MEDIA, Events, Progress, left
from .metrics import Metrics
from .openapi import DESCRIPTION
from .page import page_of
from .queue import BusyError, Job, Queue
from .tokens import OPERATOR, Tokens

LOG = logging.getLogger("polyfabric.service")

PROGRAM = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""Names of programs, which are parts of addresses and names of folders."""

KEY = re.compile(r"[A-Za-z0-9_-]{1,64}")

BINARY = "application/octet-stream"

UPLOADS = ".uploads"
"""The folder of keys that are being received, inside that of the keys."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What tenants may use."""

    key_memory: int = 2 << 30
    """Bytes of expanded keys in memory, of all tenants and programs. With a cluster, of each worker, and of keys as they were sent here."""
    tenant_storage: int = 10 << 30
    """Bytes of stored keys of one tenant."""
    queue_memory: int = 1 << 30
    """Bytes of the bodies of all requests that have been admitted and not been answered."""
    tenant_queue: int = 16
    """Number of such requests of one tenant."""
    tenant_rate: float = 100.0
    """Requests a second of one tenant."""
    parallel: int = 2
    """Executions at a time."""


@dataclass(frozen=True)
class Options:
    """What the specifications of all programs contain, as for `pf.Server`."""

    parameters: str | None = None
    circuit_privacy: float | None = None
    public: bool = False


class Service:
    """The programs, their keys and the queue of one server."""

    def __init__(
        self,
        programs: Sequence[TracedProgram],
        folder: str | Path,
        tokens: Tokens,
        limits: Limits,
        options: Options,
        cluster: Cluster | None = None,
        page: Path | None = None,
    ) -> None:
        """With a `cluster`, its workers execute. `page` is the folder of a client in a browser."""
        _expect_names([program.name for program in programs])
        self._lock = _only_server(made_folder(folder))
        self._uploads = _emptied(Path(folder) / UPLOADS)
        self._memory = KeyMemory(limits.key_memory)
        self._limits = limits
        own = asdict(options)
        threads = max(1, cores() // limits.parallel)
        self._stores: dict[str, KeyStore] = {}
        for program in programs:
            place = Path(folder) / program.name.lower()
            more = {"most_bytes": self._memory, "threads": threads, "cluster": cluster}
            self._stores[program.name] = KeyStore(program, place, **more, **own)
        self._queue = Queue(
            parallel=limits.parallel, most_bytes=limits.queue_memory, most_of_tenant=limits.tenant_queue
        )
        self._uploading: Counter[str] = Counter()
        """Bytes that each tenant's keys on their way may take."""
        self._metrics = Metrics()
        routes = [
            Route("/programs", self._list_programs),
            Route("/programs/{program}:run", self._run, methods=["POST"]),
            Route("/programs/{program}", self._specification),
            Route("/programs/{program}/keys", self._list_keys),
            Route("/programs/{program}/keys/{key}", self._put_key, methods=["PUT"]),
            Route("/programs/{program}/keys/{key}", self._delete_key, methods=["DELETE"]),
            Route("/metrics", self._show_metrics),
            Route("/openapi.json", self._openapi),
        ]
        self._faults: dict[Any, Any] = dict.fromkeys((FileError, InputError, ParameterError), _refused)
        self._faults |= {ClientDisconnect: _gone, CancelledError: _gone, BusyError: self._busy, Exception: _failed}
        inner = Starlette(routes=routes, exception_handlers=self._faults, lifespan=self._working)
        inner.router.redirect_slashes = False
        self.app = self._guard = Guard(
            inner, tokens, Rate(limits.tenant_rate), self._metrics, None if page is None else page_of(page)
        )

    @property
    def names(self) -> list[str]:
        """The programs' names."""
        return list(self._stores)

    @asynccontextmanager
    async def _working(self, _: Starlette) -> AsyncIterator[None]:
        work = asyncio.create_task(self._queue.work())
        try:
            yield
        finally:
            work.cancel()
            with suppress(asyncio.CancelledError):
                await work

    # -- what a request names -------------------------------------------------------------------------------------

    def _store(self, request: Request, action: str) -> KeyStore:
        """The store of the program in the address."""
        name = request.path_params["program"]
        facts = request.state.facts
        facts["action"] = action
        if name not in self._stores:
            raise HTTPException(404, "there is no program of this name; GET /programs lists them\n")
        facts["program"] = name
        return self._stores[name]

    def _client(self, request: Request, key: str) -> str:
        """The client's name of a tenant's key."""
        if not KEY.fullmatch(key):
            raise HTTPException(400, "a key's name has 1 to 64 letters, digits, - and _; choose another name\n")
        request.state.facts["key"] = key
        return f"{key}@{request.state.tenant}"

    # -- programs -------------------------------------------------------------------------------------------------

    async def _list_programs(self, request: Request) -> Response:
        request.state.facts["action"] = "programs"
        return JSONResponse({name: store.program.__doc__ for name, store in self._stores.items()})

    async def _specification(self, request: Request) -> Response:
        store = self._store(request, "specification")
        return Response(store.specification.to_bytes(), media_type="application/json")

    # -- keys -----------------------------------------------------------------------------------------------------

    async def _list_keys(self, request: Request) -> Response:
        store = self._store(request, "keys")
        ending = f"@{request.state.tenant}"
        sizes = await run_in_threadpool(store.sizes)
        return JSONResponse({name.removesuffix(ending): size for name, size in sizes.items() if name.endswith(ending)})

    async def _put_key(self, request: Request) -> Response:
        """Receives a key in a file, and stores it once it has been found to serve the program."""
        store = self._store(request, "put key")
        client = self._client(request, request.path_params["key"])
        tenant = request.state.tenant
        request.state.held.enter_context(self._queue.place(tenant))
        with self._upload(tenant, _length(request, store.most_key_bytes)) as temporary:
            await self._expect_storage(store, tenant, client)
            with temporary.open("xb") as file:
                await _receive(request, store.most_key_bytes, file.write)
            job = Job(
                tenant, None, partial(store.put, client, temporary), lambda _, jobs: [(job, None) for job in jobs]
            )
            await self._done(request, job)
        return Response(status_code=204)

    async def _delete_key(self, request: Request) -> Response:
        store = self._store(request, "delete key")
        client = self._client(request, request.path_params["key"])
        await run_in_threadpool(store.remove, client)
        return Response(status_code=204)

    async def _expect_storage(self, store: KeyStore, tenant: str, client: str) -> None:
        """Refuses keys on their way that exceed the tenant's storage; one that is replaced does not count."""

        def stored() -> int:
            return sum(
                size
                for own in self._stores.values()
                for name, size in own.sizes().items()
                if name.endswith(f"@{tenant}") and (own is not store or name != client.lower())
            )

        taken, coming = await run_in_threadpool(stored), self._uploading[tenant]
        if taken + coming > self._limits.tenant_storage:
            self._metrics.count("refusals_total", reason="storage")
            raise HTTPException(
                403,
                f"your other keys have {taken:,} bytes, those on their way {coming:,}, and {self._limits.tenant_storage:,} are yours; delete "
                "keys that you no longer use\n",
            )

    @contextmanager
    def _upload(self, tenant: str, most: int) -> Iterator[Path]:
        """A new file for a key; its remains are removed."""
        self._uploading[tenant] += most
        temporary = self._uploads / secrets.token_hex(16)
        try:
            yield temporary
        finally:
            temporary.unlink(missing_ok=True)
            self._uploading[tenant] -= most

    # -- execution ------------------------------------------------------------------------------------------------

    async def _run(self, request: Request) -> Response:
        """Executes on a client's encrypted inputs."""
        store = self._store(request, "run")
        key = request.query_params.get("key", "")
        client, tenant = self._client(request, key), request.state.tenant
        size = _length(request, store.most_request_bytes)
        request.state.held.enter_context(self._queue.place(tenant, size))
        checksum = await run_in_threadpool(store.checksum, client)
        if checksum is None:
            raise HTTPException(404, f"there is no key {key}; PUT it to /programs/{store.program.name}/keys/{key}\n")
        wanted = request.headers.get("if-match")
        if wanted is not None and wanted != f'"{checksum.hex()}"':
            raise HTTPException(
                412, f"the key {key} is another one; PUT yours, under another name if both are in use\n"
            )
        body = bytearray()
        await _receive(request, store.most_request_bytes, body.extend)
        inputs = await run_in_threadpool(Ciphertexts.from_bytes, bytes(body))
        del body

        progress = Progress() if MEDIA in request.headers.get("accept", "") else None
        executed = partial(asyncio.get_running_loop().call_soon_threadsafe, self._count, store.program.name)
        finish = partial(_execute, executed=executed)
        job = Job(tenant, (store.program.name, client), partial(store.server, client), finish, _Work(inputs, progress))
        if progress is None:
            return await _answer(self._done(request, job))
        return Events(progress, lambda: _answer(self._queue.do(job)), partial(self._failed_later, request))

    def _count(self, program: str, requests: int, seconds: float) -> None:
        """Counts an execution."""
        self._metrics.time("execution_seconds", seconds, program=program)
        self._metrics.count("executed_requests_total", requests, program=program)

    async def _failed_later(self, request: Request, error: Exception) -> Response:
        """What an exception is answered with once events have been sent."""
        fault = next((own for kind, own in self._faults.items() if isinstance(error, kind)), _failed)
        if fault is _failed:
            LOG.error("a request failed", exc_info=error)
        answer = await fault(request, error)
        request.state.facts.setdefault("outcome", answer.status_code)
        return answer

    async def _done(self, request: Request, job: Job) -> Any:  # noqa: ANN401 - what the job returns
        """The result of a job, which ends if the client goes away."""
        working = asyncio.create_task(self._queue.do(job))
        leaving = asyncio.create_task(left(request.receive))
        try:
            await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                raise ClientDisconnect
            return working.result()
        finally:
            for task in (working, leaving):
                task.cancel()
            await asyncio.gather(working, leaving, return_exceptions=True)

    # -- the server itself ----------------------------------------------------------------------------------------

    async def _show_metrics(self, request: Request) -> Response:
        request.state.facts["action"] = "metrics"
        if request.state.tenant != OPERATOR:
            raise HTTPException(403, f"only the tenant {OPERATOR} reads the metrics\n")
        gauges = {
            "queue_length": len(self._queue),
            "executions_running": self._queue.running,
            "keys_resident": len(self._memory),
            "keys_resident_bytes": self._memory.bytes,
            "keys_stored_bytes": await run_in_threadpool(
                lambda: sum(sum(store.sizes().values()) for store in self._stores.values())
            ),
        }
        return PlainTextResponse(self._metrics.text(gauges), media_type="text/plain; version=0.0.4")

    async def _openapi(self, request: Request) -> Response:
        request.state.facts["action"] = "openapi"
        return JSONResponse(DESCRIPTION)

    async def _busy(self, _: Request, busy: BusyError) -> Response:
        return self._guard.refuse(busy)


@dataclass(frozen=True)
class _Work:
    """One request to execute a program."""

    inputs: Ciphertexts
    progress: Progress | None


@dataclass(frozen=True)
class _Batch:
    """The progress hook of one execution for several requests, and the event that cancels it: once nobody waits for any of them."""

    jobs: Sequence[Job]

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Reports progress to all that asked for it."""
        for job in self.jobs:
            if job.work.progress is not None:
                job.work.progress(stage, done, total)

    def is_set(self) -> bool:
        """Whether the execution is cancelled."""
        return all(job.cancelled.is_set() for job in self.jobs)


def _execute(
    server: Executor, jobs: Sequence[Job], executed: Callable[[int, float], object]
) -> Iterator[tuple[Job, bytes | BaseException]]:
    """Executes requests of one key, as many at a time as are faster together. Calls `executed` after each execution."""
    for first in range(0, len(jobs), server.together):
        batch = _Batch([job for job in jobs[first : first + server.together] if not job.cancelled.is_set()])
        if not batch.jobs:
            continue
        begin = time.perf_counter()
        try:
            found = server.outcomes([job.work.inputs for job in batch.jobs], progress=batch, cancel=batch)
        # Those of the next execution go on.
        except BaseException as error:
            yield from ((job, error) for job in batch.jobs)
            continue
        with suppress(RuntimeError):
            # The loop has been closed if the server stops.
            executed(len(batch.jobs), time.perf_counter() - begin)
        for job, one in zip(batch.jobs, found, strict=True):
            yield job, one if isinstance(one, BaseException) else one.to_bytes()


async def _answer(done: Awaitable[bytes]) -> Response:
    """The answer of a job to run a program."""
    return Response(await done, media_type=BINARY)


def _expect_names(names: Sequence[str]) -> None:
    """Refuses programs whose name is no part of an address, or taken."""
    for index, name in enumerate(names):
        if not PROGRAM.fullmatch(name):
            raise InputError(
                f'program {name!r}: a served program\'s name has 1 to 64 letters, digits, - and _; rename it, as @pf.program("name", ..)'
            )
        if name.lower() in {other.lower() for other in names[:index]}:
            raise InputError(f"program {name!r}: two programs have this name, which ignores case; rename one of them")


def _only_server(folder: Path) -> IO[bytes]:
    """Locks the folder until the file is closed, because a start removes what an earlier server was receiving."""
    try:
        lock = (folder / ".lock").open("wb")
    except OSError as error:
        raise FileError(f"{folder}: cannot write ({error.strerror}); name another folder for keys") from error
    # Windows has no such locks.
    with suppress(ImportError):
        import fcntl

        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise RunError(f"{folder}: another server uses this folder; stop it, or name another one") from None
    return lock


def _emptied(folder: Path) -> Path:
    """A folder without files."""
    made_folder(folder)
    for path in folder.iterdir():
        path.unlink()
    return folder


def _length(request: Request, most: int) -> int:
    """The bytes that a request says it has, or the most that it may have."""
    text = request.headers.get("content-length", "")
    stated = int(text) if text.isdecimal() and len(text) < 20 else most
    if stated > most:
        raise HTTPException(413, f"{stated:,} bytes, but at most {most:,} belong here\n")
    return stated


async def _receive(request: Request, most: int, write: Callable[[bytes], object]) -> None:
    """Passes the body on in pieces; refuses more than `most` bytes, and a body that comes too slowly."""
    stated, received = _length(request, most), 0
    try:
        async with asyncio.timeout(GRACE + stated / SLOWEST):
            async for piece in request.stream():
                received += len(piece)
                if received > most:
                    raise HTTPException(413, f"more than {most:,} bytes, which nothing that belongs here has\n")
                write(piece)
    except TimeoutError:
        raise HTTPException(408, "the request came too slowly; send it again over a faster connection\n") from None


async def _refused(_: Request, error: Exception) -> Response:
    """What was wrong with the request, and what to do."""
    return PlainTextResponse(f"{error}\n", 400)


async def _gone(request: Request, _: Exception) -> Response:
    """Nobody reads this: the client went away."""
    request.state.facts["outcome"] = "client left"
    return PlainTextResponse("", 400)


async def _failed(_: Request, __: Exception) -> Response:
    """A fault of the server, whose text is for its log."""
    return PlainTextResponse(
        "the server failed to answer; its operator finds the cause in the log. Send the request again later\n", 500
    )

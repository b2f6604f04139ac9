"""`polyfabric serve` and `polyfabric token`: programs on encrypted data over HTTP, for tenants with tokens."""

from __future__ import annotations

from importlib.util import find_spec
from math import isnan
from pathlib import Path

import click

from ..apps import programs as known
from ..errors import InputError
from ..host import memory
from ..host.clusters import connected
from ..host.computer import is_local
from ..host.progress import working
from ..run.cluster import Cluster
from ..service.tokens import Tokens, make_token, make_token_file
from .console import note_line, security_warnings
from .grouped import Grouped
from .named import PROGRAM


class _Size(click.ParamType):
    """Bytes, as `4G`."""

    name = "SIZE"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The bytes."""
        try:
            return memory.size(int(value) if isinstance(value, str) and value.isdecimal() else value)
        except InputError:
            self.fail(f"{value!r} is not a size; give bytes, or a text such as 4G", param, ctx)


TOKENS = click.option(
    "--tokens",
    metavar="FILE",
    type=click.Path(path_type=Path),
    required=True,
    help="File of the tenants' tokens, as hashes.",
)


@click.command(
    cls=Grouped,
    headings={
        "Network": ("host", "port", "tls_cert", "tls_key", "plain_http", "page"),
        "Limits": ("key_memory", "tenant_storage", "queue_memory", "tenant_queue", "tenant_rate"),
        "Execution": ("parallel", "workers"),
        "Programs": ("params", "public", "circuit_privacy"),
    },
    examples=(
        "polyfabric token acme --tokens tokens.txt --out acme.token",
        "polyfabric serve examples/auction.py --keys keys --tokens tokens.txt",
    ),
)
@click.argument("programs", type=PROGRAM, nargs=-1, required=True)
@click.option(
    "--keys",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    required=True,
    help="Folder of the clients' evaluation keys.",
)
@TOKENS
@click.option("--host", metavar="ADDRESS", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="Port; 0 chooses one.")
@click.option("--tls-cert", metavar="FILE", type=click.Path(path_type=Path), help="Certificate with its chain, in PEM.")
@click.option("--tls-key", metavar="FILE", type=click.Path(path_type=Path), help="The certificate's key, in PEM.")
@click.option("--plain-http", is_flag=True, help="Listen on the network without TLS, behind a proxy that has it.")
@click.option(
    "--page",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help="Folder of a page with a client for browsers, which `make page` makes.",
)
@click.option(
    "--key-memory",
    type=_Size(),
    default="2G",
    show_default=True,
    help="Memory for the keys of all tenants, and with --workers also in each worker. The others are read from the folder again.",
)
@click.option(
    "--tenant-storage", type=_Size(), default="10G", show_default=True, help="Bytes of a tenant's keys in the folder."
)
@click.option(
    "--queue-memory", type=_Size(), default="1G", show_default=True, help="Memory for the bodies of waiting requests."
)
@click.option(
    "--tenant-queue",
    type=click.IntRange(1, 1 << 16),
    default=16,
    show_default=True,
    help="Requests of one tenant at a time.",
)
@click.option(
    "--tenant-rate",
    metavar="NUMBER",
    type=click.FloatRange(0, 1e6, min_open=True),
    default=100,
    show_default=True,
    help="Requests a second of one tenant.",
)
@click.option(
    "--parallel",
    type=click.IntRange(1, 1024),
    help="Executions at a time, which share the processors; by default 2, or with --workers as many as the workers' threads.",
)
@click.option(
    "--workers",
    metavar="ADDRESS",
    help="Execute on the workers of the Dask cluster with this scheduler, such as tcp://scheduler:8786.",
)
@click.option("--params", metavar="SET", help="Parameter set of all programs; by default each has the cheapest.")
@click.option("--public", is_flag=True, help="Accept inputs encrypted with a client's public key.")
@click.option("--circuit-privacy", metavar="BITS", type=float, help="TFHE: hide the programs' weights in answers.")
def serve(
    *,
    programs: tuple[str, ...],
    keys: Path,
    tokens: Path,
    host: str,
    port: int,
    tls_cert: Path | None,
    tls_key: Path | None,
    plain_http: bool,
    page: Path | None,
    key_memory: int,
    tenant_storage: int,
    queue_memory: int,
    tenant_queue: int,
    tenant_rate: float,
    parallel: int | None,
    workers: str | None,
    params: str | None,
    public: bool,
    circuit_privacy: float | None,
) -> None:
    """Serve programs over HTTP to tenants with tokens, who keep their secret keys.

    PROGRAMS are FILE.py:FUNCTION, or FILE.py if it has one program. The audit log is on standard output, one JSON object a request, without data.
    """
    if missing := [name for name in ("starlette", "uvicorn") if find_spec(name) is None]:
        raise InputError(f"a server needs {' and '.join(missing)}; pip install 'polyfabric[service]'")
    from ..service.app import Limits, Options, Service
    from ..service.process import serve as serve_forever

    if tls_cert is None and not plain_http and not is_local(host):
        raise InputError(
            f"--host {host} is reached from the network, where tokens need TLS; give --tls-cert and --tls-key, or --plain-http behind a "
            "proxy that has TLS"
        )
    if isnan(tenant_rate):
        raise InputError("--tenant-rate nan limits nothing; give a number of requests a second")
    known_tokens = Tokens(tokens)
    cluster = None if workers is None else Cluster(connected(workers, "--workers"), key_memory=key_memory)
    limits = Limits(
        key_memory=key_memory,
        tenant_storage=tenant_storage,
        queue_memory=queue_memory,
        tenant_queue=tenant_queue,
        tenant_rate=tenant_rate,
        parallel=parallel or (2 if cluster is None else max(1, cluster.slots)),
    )
    options = Options(parameters=params, circuit_privacy=circuit_privacy, public=public)
    with security_warnings(), working("planning"):
        service = Service([known.load(name) for name in programs], keys, known_tokens, limits, options, cluster, page)
    serve_forever(
        service,
        host=host,
        port=port,
        certificate=tls_cert,
        key=tls_key,
        started=lambda address: note_line(f"serving {', '.join(service.names)} on {address}"),
    )


@click.command()
@click.argument("tenant")
@TOKENS
@click.option(
    "--out",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="New file for the token, readable only by you; by default the token is printed.",
)
def token(*, tenant: str, tokens: Path, out: Path | None) -> None:
    """Make a token for a tenant of `polyfabric serve`, and add its hash to a file.

    The token is stored nowhere else. To revoke it, remove its line from the file; a running server notices. The tenant `operator` also reads
    /metrics.
    """
    if out is None:
        click.echo(make_token(tokens, tenant))
    else:
        make_token_file(tokens, tenant, out)

"""``autolith ui``: the Temporal Web UI, and the codec endpoint that lets its owner read it."""

import asyncio
from contextlib import closing
from urllib.parse import urlsplit

import click

from activities.store.objects import ObjectDirectory
from cli.application import Application
from worker.codec_endpoint import CodecEndpoint
from worker.embedded.attach import ensure_running
from worker.sealing.keys import read_key_ring
from worker.sealing.seal import Seal


@click.command()
@click.option("--web", metavar="URL", help="Where the Web UI of the cluster is (with --address).")
@click.pass_obj
def ui(app: Application, *, web: str | None) -> None:
    """Serve the codec endpoint for the Temporal Web UI until Ctrl-C.

    Summaries and payloads are sealed; the Web UI shows them in clear to a browser
    that was given the endpoint's address.
    """
    page = _page(app, web)
    seal = Seal(read_key_ring(app.roots.state))
    objects = ObjectDirectory(app.roots.data / "objects")
    with closing(CodecEndpoint(seal, objects, ui_origin=origin_of(page))) as endpoint:
        for line in instructions(page, endpoint.address):
            click.echo(line)
        try:
            endpoint.serve()
        except KeyboardInterrupt:
            click.echo()


def instructions(page: str, endpoint: str) -> list[str]:
    """Return what the owner has to do, as lines."""
    return [
        f"  web ui          {page}",
        f"  codec endpoint  {endpoint}",
        "",
        "Open the web ui, choose the glasses icon (data encoder) at the top, and enter the",
        "codec endpoint there. Whoever knows its address can read everything: keep it to",
        "yourself. It is valid until Ctrl-C ends this command.",
    ]


def origin_of(page: str) -> str:
    """Return the origin that a browser sends for *page*.

    Raises:
        UsageError: it is no web address.
    """
    parts = urlsplit(page)
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        raise click.UsageError(f"{page!r} is not the address of a web page")
    return f"{parts.scheme}://{parts.netloc}"


def _page(app: Application, web: str | None) -> str:
    if web:
        return web
    if app.address:
        raise click.UsageError("--address needs --web: only you know where that cluster's UI is")
    return asyncio.run(ensure_running(app.roots)).ui_address

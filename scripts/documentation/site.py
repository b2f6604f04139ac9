"""A hook of mkdocs: pages link to files outside of `docs/` by their path in the repository, and the site has pages for those files.

Example: `[the program](../examples/model.py)` in `docs/models.md` leads to the page `source/examples/model.py.md`, which shows the
file. Linked Markdown files become pages too, with the links of their own; README is the site's first page. A link to a
folder loses its target, since the site has no listing. Tutorials are notebooks, whose links mkdocs does not know.

The Python reference has every public name, in groups that follow from what it is.

The crates' documentation, which `make doc` writes to `target/doc`, becomes `rust/`. Pages link to it in HTML, since mkdocs does not know it.
"""

from __future__ import annotations

import inspect
import os
import posixpath
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent.parent
_LINK = re.compile(
    r"(?:^```.*?^```)|(?P<image>!?)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)|`[^`\n]+`", re.DOTALL | re.MULTILINE
)
"""A link, or code, in which there is none."""
_LANGUAGES = {".py": "python", ".toml": "toml", ".rs": "rust", ".sv": "systemverilog"}
_ALWAYS = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "LICENSE", "rtl/README.md")


def uri_of(path: str) -> str:
    """The site's source path of a file of the repository."""
    if path == "README.md":
        return "index.md"
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return f"source/{path}" if path.endswith(".md") else f"source/{path}.md"


def path_of(uri: str) -> str:
    """The file of the repository that a page of the site shows; of code, its name without `.md`."""
    if uri == "index.md":
        return "README.md"
    if not uri.startswith("source/"):
        return f"docs/{uri}"
    path = uri.removeprefix("source/")
    return path if (ROOT / path).is_file() else path.removesuffix(".md")


def _target(page: str, link: str) -> tuple[str, str] | None:
    """The linked file's path in the repository and the anchor; None for other addresses and links within a page."""
    if re.match(r"[a-z]+:|#|/", link):
        return None
    path, _, anchor = link.partition("#")
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), path)), anchor


def links(page: str, text: str) -> list[tuple[str, str]]:
    """Paths in the repository that a page links to, with anchors."""
    found = (_target(page, link["target"]) for link in _LINK.finditer(text) if link["target"])
    return [target for target in found if target is not None]


def _outside(page: str, text: str) -> list[str]:
    """Files outside of `docs/` that a page links to."""
    return [path for path, _ in links(page, text) if not path.startswith("docs/") and (ROOT / path).is_file()]


def on_startup(**_: object) -> None:
    """Names the folder of the kernel that executes the tutorials, and the style of their figures."""
    folder = Path(__file__).parent
    os.environ["JUPYTER_PATH"] = str(folder)
    os.environ["MATPLOTLIBRC"] = str(folder / "matplotlibrc")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds a page for every linked file outside of `docs/`."""
    from mkdocs.structure.files import File

    texts = [file for file in files if file.src_uri.endswith(".md")]
    waiting = [path for file in texts for path in _outside(f"docs/{file.src_uri}", file.content_string)]
    waiting += _ALWAYS
    added: set[str] = set()
    while waiting:
        path = waiting.pop()
        if path in added:
            continue
        added.add(path)
        text = (ROOT / path).read_text(encoding="utf-8")
        if path.endswith(".md"):
            waiting += _outside(path, text)
        else:
            language = _LANGUAGES.get(Path(path).suffix, "text")
            text = f"# {posixpath.basename(path)}\n\n`{path}`\n\n````{language}\n{text.rstrip()}\n````\n"
        files.append(File.generated(config, uri_of(path), content=text))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Turns links by the repository's paths into links of the site, and fills in the Python reference."""
    uri = page.file.src_uri
    if uri == "reference/python.md":
        return markdown.replace("<!-- public names -->", public_names())
    here = path_of(uri)

    def changed(link: re.Match[str]) -> str:
        target = _target(here, link["target"]) if link["target"] else None
        if target is None:
            return link[0]
        path, anchor = target
        if (ROOT / path).is_dir():
            return link["text"]
        to = os.path.relpath(
            uri_of(path) if not link["image"] else path.removeprefix("docs/"), posixpath.dirname(uri) or "."
        )
        return f"{link['image']}[{link['text']}]({to}{'#' + anchor if anchor else ''})"

    return _LINK.sub(changed, markdown)


GROUPS = ("Programs, models and machines", "Types of inputs", "Operations on encrypted values", "Objects", "Errors")


def _group(thing: object) -> str:
    """The group of a public object."""
    if isinstance(thing, type) and issubclass(thing, (Exception, Warning)):
        return "Errors"
    function = inspect.isroutine(thing)
    kind = thing.__annotations__.get("return", "") if inspect.isfunction(thing) else thing
    name = kind if isinstance(kind, str) else (kind if isinstance(kind, type) else type(kind)).__name__
    if name.endswith("Type"):
        return "Types of inputs"
    if function:
        return GROUPS[2] if ".language." in (inspect.unwrap(thing).__module__ or "") else GROUPS[0]
    return "Objects"


def public_names() -> str:
    """Every public name of the package, in groups, as the reference's directives."""
    import polyfabric

    found: dict[str, list[str]] = {group: [] for group in GROUPS}
    for name in polyfabric.__all__:
        thing = getattr(polyfabric, name)
        if not inspect.ismodule(thing):
            found[_group(thing)].append(f"polyfabric.{name}")
            continue
        for key in thing.__all__:
            if key not in polyfabric.__all__:
                found[_group(getattr(thing, key))].append(f"polyfabric.{name}.{key}")
    return "\n\n".join(
        "\n\n".join([f"## {group}", *(f"::: {path}" for path in paths)]) for group, paths in found.items() if paths
    )


def on_page_content(html: str, page: Page, **_: object) -> str:
    """Turns links of notebooks to pages and notebooks into links of the site."""
    uri = page.file.src_uri
    if not uri.endswith(".ipynb"):
        return html

    def changed(link: re.Match[str]) -> str:
        target = _target(path_of(uri), link[1])
        if target is None:
            return link[0]
        path, anchor = target
        to = os.path.relpath(uri_of(path), posixpath.dirname(uri))
        # A README is its folder's index for mkdocs.
        to = re.sub(r"\.(?:ipynb|md)$", ".html", re.sub(r"\bREADME\.md$", "index.md", to))
        return f'href="{to}{"#" + anchor if anchor else ""}"'

    return re.sub(r'href="([^"]+\.(?:ipynb|md)(?:#[^"]*)?)"', changed, html)


def on_post_build(config: MkDocsConfig, **_: object) -> None:
    """Adds the crates' documentation, and checks the links to it."""
    from mkdocs.exceptions import PluginError

    made, site = ROOT / "target" / "doc", Path(config.site_dir)
    if made.exists():
        shutil.copytree(made, site / "rust", dirs_exist_ok=True)
    page = site / "reference" / "rust.html"
    lost = [link for link in crate_links(page.read_text(encoding="utf-8")) if not (page.parent / link).exists()]
    if lost:
        raise PluginError(f"{page.name}: nothing at {', '.join(lost)}; run `make doc` first")


def crate_links(html: str) -> list[str]:
    """Links of a page to the crates' documentation."""
    return re.findall(r'href="(\.\./rust/[^"]+)"', html)

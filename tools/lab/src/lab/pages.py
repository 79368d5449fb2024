"""Pages that people read: a Markdown file, and a picture of the same beside it."""

from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

Render = Callable[..., str]  # a template's name, the document, and what else the template takes


def write_pages(render: Render, document: dict[str, Any], output: Path) -> None:
    """Write the Markdown page to this file, and the picture beside it."""
    picture = output.with_suffix(".html")
    output.write_text(render("page.md.j2", document, picture=picture.name))
    picture.write_text(render("page.html.j2", document))


def fill_template(package: str, template: str, **values: Any) -> str:
    """Return a template of this package as a page, which loads nothing from anywhere else."""
    environment = Environment(
        autoescape=template.endswith(".html.j2"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    text = files(package).joinpath(template).read_text()
    return environment.from_string(text).render(**values)

"""The commands that other distributions attach to `pipeline`, loaded only when they are needed."""

import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

GROUP = "pipeline.commands"
ROOT = Path(__file__).parent.parent

Answer = Callable[[], None]


class PipelineGroup(TyperGroup):
    """The commands of ops/, and behind them those of the tools that are installed.

    A tool that cannot be loaded does not break the others: its command says why, with exit code 2.
    """

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names: our own, the tools', and `check` even where it is not installed."""
        own = super().list_commands(ctx)
        attached = entry_points(group=GROUP).names
        further = {*attached, "check"} - set(own)
        return [*own, *sorted(further)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return one of our own commands, or load that of a tool."""
        own = super().get_command(ctx, cmd_name)
        if own is not None:
            return own
        for tool in entry_points(group=GROUP, name=cmd_name):
            return load_command(tool)
        if cmd_name == "check":
            return make_command("check", no_check, any_words=True)
        return None


def load_command(tool: EntryPoint) -> Any:
    """Return a tool's command, or one that says why it cannot be loaded."""
    try:
        return make_command(tool.name, tool.load())
    except Exception as failure:  # noqa: BLE001 - whatever is wrong with it, the others still work
        answer = cannot_load(tool, failure)
        return make_command(tool.name, answer, any_words=True)


def make_command(name: str, function: Callable[..., None], *, any_words: bool = False) -> Any:
    """Return a function as a command; with `any_words` it takes every argument there is."""
    settings = {
        "ignore_unknown_options": any_words,
        "allow_extra_args": any_words,
    }
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    attach = app.command(name, context_settings=settings)
    attach(function)
    return get_command(app)


def cannot_load(tool: EntryPoint, failure: Exception) -> Answer:
    """Return a command that says what is wrong with its tool."""
    distribution = tool.dist.name if tool.dist else tool.value
    kind = type(failure).__name__
    cause = f"{kind}: {failure}"

    def answer() -> None:
        what = f"pipeline {tool.name} cannot be loaded ({cause})"
        print(f"{what}: install {distribution} again", file=sys.stderr)
        raise typer.Exit(2)

    answer.__doc__ = f"Not available: {distribution} cannot be loaded ({cause})."
    return answer


def no_check() -> None:
    """Say which producer is really idempotent: a tool of its own, not installed here."""
    print(
        "pipeline check is a tool of its own and not installed here: "
        f"pip install {how_to_install_check(ROOT)}",
        file=sys.stderr,
    )
    raise typer.Exit(2)


def how_to_install_check(root: Path) -> str:
    """Return what pip needs: the folder in a clone of the template, else the template's address."""
    project = root / "tools" / "check" / "pyproject.toml"
    if project.exists():
        return "./tools/check"
    address = template_address(root / ".copier-answers.yml")
    return f'"pipeline-check @ git+{address}#subdirectory=tools/check"'


def template_address(answers: Path) -> str:
    """Return where this copy came from, as Copier has written it down."""
    text = answers.read_text() if answers.exists() else ""
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if key == "_src_path":
            address = value.strip().strip("'\"")
            return address.replace("gh:", "https://github.com/", 1)
    return "<address of the template>"

"""python -m ops.check.prove: the proof by itself."""

from pathlib import Path
from typing import Annotated

import typer

from ops.check.prove.cluster import look
from ops.check.prove.command import prove


def main(  # noqa: PLR0913, PLR0917 - one for each option
    files: Annotated[list[Path] | None, typer.Argument()] = None,
    prove_with: Annotated[str, typer.Option("--prove")] = "python",
    messages: int = 20_000,
    lost_acks: int = 200,
    bootstrap: str = "",
    topic: str = "",
    as_json: Annotated[bool, typer.Option("--json")] = False,
) -> None:
    """See `pipeline check --help`."""
    if bootstrap or topic:
        raise typer.Exit(look(bootstrap, topic, messages, as_json=as_json))
    code = prove(prove_with, messages, lost_acks, files or [], as_json=as_json)
    raise typer.Exit(code)


if __name__ == "__main__":
    typer.run(main)

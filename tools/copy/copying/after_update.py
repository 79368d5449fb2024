"""What Copier does not say after an update: which changes are gone, and which need merging."""

import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml
from copier import run_copy


def report(copy: Path, answers_file: str, version_before: str) -> str:
    """Return what the user has to look at after this update, or nothing."""
    status = git(copy, "status", "--porcelain", "--no-renames", "--untracked-files=all", ".")
    entries = [(line[:2], line[3:].strip('"')) for line in status.splitlines()]
    prefix = git(copy, "rev-parse", "--show-prefix").strip()
    deleted = [path.removeprefix(prefix) for state, path in entries if "D" in state]
    conflicts = [path for state, path in entries if "U" in state or path.endswith(".rej")]
    lost = changed_by_user(copy, deleted, answers_file, version_before) if deleted else []
    lines = []
    if conflicts:
        lines.append("changed on both sides, to be merged by hand:")
        lines += [f"  {path}" for path in conflicts]
    if lost:
        lines.append("deleted or renamed by the template, with changes of yours inside:")
        lines += [f"  git show HEAD:./{path}" for path in lost]
    return "\n".join(lines)


def changed_by_user(
    copy: Path, paths: list[str], answers_file: str, version_before: str
) -> list[str]:
    """Return which of these files the user had changed since the template delivered them."""
    answers: dict[str, Any] = yaml.safe_load(git(copy, "show", f"HEAD:./{answers_file}"))
    with TemporaryDirectory() as folder:
        run_copy(
            answers["_src_path"],
            folder,
            data={key: value for key, value in answers.items() if not key.startswith("_")},
            vcs_ref=version_before,
            defaults=True,
            quiet=True,
            unsafe=True,
        )
        delivered = Path(folder)
        return [path for path in paths if is_changed(copy, path, delivered / path)]


def is_changed(copy: Path, path: str, delivered: Path) -> bool:
    """Return whether the committed file differs from what the template delivered there."""
    committed = subprocess.run(
        ["git", "show", f"HEAD:./{path}"], cwd=copy, capture_output=True, check=True
    ).stdout
    return not delivered.exists() or delivered.read_bytes() != committed


def git(folder: Path, *command: str) -> str:
    """Return what git prints."""
    return subprocess.run(
        ["git", *command], cwd=folder, capture_output=True, text=True, check=True
    ).stdout

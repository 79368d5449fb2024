"""Which folders a project ends in."""

from pathlib import Path


def up_to_the_root(folder: Path) -> list[Path]:
    """Return the folders up to that of the repository; without one, up to the working folder."""
    folders = [folder, *folder.parents]
    for count, place in enumerate(folders, 1):
        if (place / ".git").exists():
            return folders[:count]
    here = Path.cwd()
    return [place for place in folders if place.is_relative_to(here)] or [folder]

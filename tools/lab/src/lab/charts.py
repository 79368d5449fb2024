"""Lines in a picture: what was measured again and again, as paths of an SVG."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

WIDTH, HEIGHT = 300, 100

Points = Sequence[Sequence[float]]
Series = Mapping[str, Mapping[str, Points]]  # by measure and line


def make_charts(series: Series) -> Iterator[dict[str, Any]]:
    """Yield a chart for each measure: a path for each line, and where the scales end."""
    for name, lines in series.items():
        points = [point for line in lines.values() for point in line]
        longest = max(at for at, _ in points) or 1
        most = max(value for _, value in points) or 1
        paths = {line: as_path(its, longest, most) for line, its in lines.items()}
        yield {"name": name, "most": most, "longest": longest, "lines": paths}


def as_path(points: Points, longest: float, most: float) -> str:
    """Return a line as the path of a picture."""
    top = 0.96 * HEIGHT
    moves = [
        f"{WIDTH * at / longest:.0f} {HEIGHT - top * value / most:.1f}" for at, value in points
    ]
    return "M" + "L".join(moves)

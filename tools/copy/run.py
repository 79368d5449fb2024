"""What copier.yml starts: run.py copy | update, with the paths and answers that Copier hands on."""

import json
import sys
from pathlib import Path

from copying.task import RefusedError, make_copy


def main() -> None:
    """Do the step, and end with a sentence when it cannot be done."""
    step, *given = sys.argv[1:]
    if step == "copy":
        template, answers, answers_file = given
        try:
            left_to_do = make_copy(Path(template), Path(), json.loads(answers), answers_file)
        except RefusedError as refusal:
            raise SystemExit(str(refusal)) from None
    else:
        from copying.after_update import report  # noqa: PLC0415 - only an update needs Copier itself

        answers_file, version_before = given
        left_to_do = report(Path(), answers_file, version_before)
    if left_to_do:
        print(left_to_do, file=sys.stderr)


main()

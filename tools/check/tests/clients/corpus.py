"""The corpus: configurations written to be found fault with, or to be found faultless."""

from pathlib import Path

import yaml

from pipeline_check.audit import Audit, audit, read_sources
from pipeline_check.walk import files

CORPUS = Path(__file__).parent / "corpus"
EXPECTED: dict[str, list[str]] = yaml.safe_load((CORPUS / "expected.yaml").read_text())


def audited(case: str) -> Audit:
    """What the audit says of one case: a file, or the files of a folder together."""
    return audit(read_sources(files([CORPUS / case]), []), {})


def found(case: str) -> list[str]:
    """Verdicts and findings as the list of expectations writes them: where, and what."""
    judged = audited(case)
    verdicts = [
        f"{short(each.block.file)}:{each.block.line} {each.verdict}" for each in judged.producers
    ]
    return sorted(
        verdicts + [f"{short(each.file)}:{each.line} {each.id}" for each in judged.every()]
    )


def short(file: str) -> str:
    """The file's own name."""
    return Path(file).name

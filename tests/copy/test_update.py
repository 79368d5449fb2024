"""A later version of the template comes into a changed copy, and no line of the user's is lost."""

import os
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.copy.copies import Copy, copier, make_copy, make_template, release

# An update of everything takes Copier a minute: `make prove` has it, and no test looks at these.
NOT_LOOKED_AT = ("tests/", "tools/check/", "tools/lab/", "ops/", "spark/", "migrations/")


class Updated(NamedTuple):
    """A copy after an update, and what the update has printed."""

    copy: Copy
    said: str

    def text(self, name: str) -> str:
        """Return a file of the copy as it is now."""
        return (self.copy.path / name).read_text()

    def exists(self, name: str) -> bool:
        """Return whether the copy has this file now."""
        return (self.copy.path / name).exists()


def add_line(file: Path, line: str, *, at: int | None = None) -> None:
    """Add a line to a file, at its end if no place is given."""
    lines = file.read_text().splitlines()
    lines.insert(len(lines) if at is None else at, line)
    file.write_text("\n".join(lines) + "\n")


def change_copy(copy: Copy) -> None:
    """Do what users do; each of their lines has a word that is found again."""
    path = copy.path
    add_line(path / "service" / "ids.py", "# USER another line")
    add_line(path / "service" / "logs.py", "# USER the same line", at=1)
    add_line(path / "service" / "post.py", "# USER in a file that the template deletes")
    add_line(path / "service" / "outage.py", "# USER in a file that the template renames")
    add_line(path / "contract" / "payment.py", "# USER in a file that the copy renames")
    add_line(path / "README.md", "USER in the readme")
    add_line(path / "service" / "metrics.py", "# USER in a file that the user renames")
    (path / "service" / "metrics.py").rename(path / "service" / "gauges.py")
    (path / "service" / "health.py").unlink()
    (path / "service" / "refund.py").write_text("order = 1  # USER in a file of the user's\n")
    copy.commit()


def change_template(template: Path) -> None:
    """Do what the authors of the template do until version 2."""
    add_line(template / "service" / "ids.py", "# TEMPLATE another line of an order", at=1)
    add_line(template / "service" / "logs.py", "# TEMPLATE the same line", at=1)
    add_line(template / "contract" / "order.py", "# TEMPLATE on the order", at=1)
    add_line(template / "service" / "health.py", "# TEMPLATE in a file that the user deletes")
    (template / "service" / "post.py").unlink()
    (template / "service" / "database.py").unlink()
    (template / "service" / "outage.py").rename(template / "service" / "outages.py")
    (template / "service" / "order_limits.py").write_text('"""The limits of an order."""\n')
    add_line(template / "extras" / "entity" / "store.py", "# TEMPLATE in an extra")
    release(template, "v2.0.0")


@pytest.fixture(scope="module")
def updated(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Updated:
    """Return a changed copy of version 1 after the update to version 2, which adds an extra."""
    folder = tmp_path_factory.mktemp("updated") / "template"
    left_out = () if os.environ.get("PROVE") else NOT_LOOKED_AT
    template = make_template(folder, without=left_out)
    copy = make_copy(template, template.parent / "copy", cache)
    change_copy(copy)
    change_template(template)
    done = copier("update", "-d", 'keep=["entity"]', str(copy.path))
    assert done.code == 0, done.output
    return Updated(copy, done.output)


def test_lines_apart_are_merged(updated: Updated) -> None:
    """Another line on each side: both are there, the template's in the copy's words."""
    text = updated.text("service/ids.py")
    assert "# USER another line" in text
    assert "# TEMPLATE another line of a payment" in text


def test_one_line_on_both_sides_is_a_conflict_that_is_named(updated: Updated) -> None:
    """Both are between markers, and the file is listed, for Copier itself says nothing."""
    text = updated.text("service/logs.py")
    assert "<<<<<<< before updating" in text
    assert "# USER the same line" in text
    assert "# TEMPLATE the same line" in text
    assert "changed on both sides, to be merged by hand:\n  service/logs.py\n" in updated.said


def test_a_file_with_another_name_in_the_copy_is_merged(updated: Updated) -> None:
    """The template's order.py is the copy's payment.py, with the lines of both."""
    text = updated.text("contract/payment.py")
    assert "# USER in a file that the copy renames" in text
    assert "# TEMPLATE on the payment" in text
    assert not updated.exists("contract/order.py")


def test_a_changed_file_that_the_template_deletes_or_renames_is_listed(updated: Updated) -> None:
    """What Copier drops silently is named, with the command that shows it again."""
    listed = updated.said.partition("with changes of yours inside:\n")[2]
    for name in ("service/post.py", "service/outage.py"):
        assert not updated.exists(name)
        assert f"  git show HEAD:./{name}\n" in listed
        assert "# USER" in updated.copy.git("show", f"HEAD:./{name}")
    assert updated.exists("service/outages.py")


def test_an_unchanged_file_that_the_template_deletes_goes_unlisted(updated: Updated) -> None:
    """Nothing of the user's was in it."""
    assert not updated.exists("service/database.py")
    assert "service/database.py" not in updated.said


def test_what_the_user_deleted_stays_away(updated: Updated) -> None:
    """Whether it was deleted or renamed, and whether the template has changed it or not."""
    assert not updated.exists("service/health.py")
    assert not updated.exists("service/metrics.py")
    assert "# USER in a file that the user renames" in updated.text("service/gauges.py")


def test_a_file_of_the_users_is_untouched(updated: Updated) -> None:
    """Even if it has words that the template would rename."""
    assert updated.text("service/refund.py") == "order = 1  # USER in a file of the user's\n"


def test_a_new_file_comes_in_the_copys_words(updated: Updated) -> None:
    """Its name and its text are renamed like all others."""
    assert "The limits of a payment" in updated.text("service/payment_limits.py")


def test_an_extra_can_be_added_later(updated: Updated) -> None:
    """Another answer brings it, as it is in the new version; the others stay away."""
    assert "# TEMPLATE in an extra" in updated.text("extras/entity/store.py")
    assert not updated.exists("extras/aggregator")


def test_no_line_of_the_users_is_lost(updated: Updated) -> None:
    """Each is in the copy, or in a file that was listed."""
    written = updated.copy.git("grep", "-hE", "USER (another|the same|in) ", "HEAD").splitlines()
    now = "".join(
        file.read_text() for file in updated.copy.path.rglob("*") if file.suffix in {".py", ".md"}
    )
    gone = [line for line in written if line not in now]
    assert len(written) == 8
    assert gone == [
        "# USER in a file that the template renames",
        "# USER in a file that the template deletes",
    ]


def test_the_rest_of_the_update_is_no_change(updated: Updated) -> None:
    """Nothing changes but what somebody has changed: copies are made alike each time."""
    changed = updated.copy.git("diff", "--name-only", "HEAD").split()
    assert sorted(changed) == [
        ".copier-answers.yml",
        "README.md",  # this and the next three link to docs/dedup.md, which comes with the extra
        "contract/payment.py",
        "docs/promises.md",
        "docs/reconcile.md",
        "docs/wire.md",
        "service/database.py",
        "service/ids.py",
        "service/logs.py",
        "service/outage.py",
        "service/post.py",
    ]


@pytest.mark.prove
def test_other_words_at_an_update_lose_nothing_silently(
    template: Path, cache: Path, tmp_path: Path
) -> None:
    """With another subject files get other names: what was changed in the old ones is listed."""
    copy = make_copy(template, tmp_path / "copy", cache)
    add_line(copy.path / "contract" / "payment.py", "# USER in the old words")
    copy.commit()
    done = copier("update", "-d", "subject=transfer", str(copy.path))
    assert done.code == 0, done.output
    assert (copy.path / "contract" / "transfer.py").exists()
    listed = done.output.partition("with changes of yours inside:\n")[2]
    assert listed.split("\n")[0] == "  git show HEAD:./contract/payment.py"

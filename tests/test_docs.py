"""What the pages show is run as it stands."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import halfbyte
from halfbyte.cli.main import main
from photos import photo

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    *(ROOT / "docs" / f"{name}.md" for name in ("activations", "feature_maps", "tuning")),
]
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def run_console(line: str) -> None:
    command, *arguments = shlex.split(line)
    assert command == "halfbyte"
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 0, line


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for number in range(12):
        folder = tmp_path / "photos" / ("cat" if number % 2 else "dog")
        folder.mkdir(parents=True, exist_ok=True)
        photo(number, width=320, height=256).save(folder / f"{number}.jpg", quality=90)
    namespace: dict[str, object] = {}
    blocks = BLOCK.findall(page.read_text())
    assert blocks
    for language, text in blocks:
        if language == "python":
            exec(compile(text, str(page), "exec"), namespace)
        else:
            for line in text.splitlines():
                run_console(line.removeprefix("$ "))


def test_public_names_are_documented() -> None:
    documented = (ROOT / "README.md").read_text() + (ROOT / "docs" / "api.md").read_text()
    names = [*halfbyte.__all__, *halfbyte.activations.__all__, *halfbyte.tuning.__all__]
    missing = [name for name in names if not name.startswith("_") and name not in documented]
    assert missing == []

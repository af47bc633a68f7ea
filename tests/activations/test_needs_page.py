"""The guide's table of needs is the one that the code goes by.

After a change of `policy/needs.py` write it anew: `python tests/activations/test_needs_page.py`.
"""

from __future__ import annotations

import re
from pathlib import Path

from halfbyte.activations.policy.needs import EXACT_FIELDS, EXACT_NODES, NEEDS, Need
from halfbyte.activations.policy.saved_tensor import Saver

PAGE = Path(__file__).parent.parent.parent / "docs" / "activations.md"
TABLE = re.compile(r"(?<=needs\.py -->\n).*(?=<!-- end -->)", re.DOTALL)
MEANING = {
    Need.SHAPE: "its shape only: no byte is held",
    Need.SIGN: "whether it is > 0: one bit an element",
    Need.TWO_VALUES: "the value, which may be one of only two (dropout): then one bit an element",
    Need.VALUE: "the value: the policy is asked",
    Need.EXACT: "the value, exactly: it stays as it is",
}


def needs_table() -> str:
    lines = ["| what backward reads | of |", "| --- | --- |"]
    for need in Need:
        savers = sorted(f"`{Saver(*key)}`" for key, listed in NEEDS.items() if listed is need)
        if need is Need.EXACT:
            savers += [f"every node with {name} in its name" for name in EXACT_NODES]
            savers += [f"every `{name}`" for name in EXACT_FIELDS]
        lines.append(f"| {MEANING[need]} | {', '.join(savers) or 'everything else'} |")
    return "\n".join(lines) + "\n"


# When tests are collected; some of them register needs of their own.
EXPECTED = needs_table()


def test_page_shows_the_table_in_force() -> None:
    found = TABLE.search(PAGE.read_text())
    assert found is not None
    assert found[0] == EXPECTED, f"stale: run python {Path(__file__).name} in {Path(__file__).parent}"


if __name__ == "__main__":
    PAGE.write_text(TABLE.sub(lambda _: needs_table(), PAGE.read_text()))

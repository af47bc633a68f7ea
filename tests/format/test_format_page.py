"""docs/format.md says what the code does: constants, tables, and the worked example byte by byte."""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path
from typing import Any

import pytest
from golden_parts import read_stream, xxh3

from halfbyte import errors
from halfbyte.format import arrow_stream, header, manifest, sample_table
from halfbyte.format.index import decode_index, record_name
from halfbyte.records.record import parse_record

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "format.md").read_text()
EXAMPLE = ROOT / "tests" / "golden" / "valid" / "example"
CODES = {"u16": "H", "u32": "I", "u64": "Q"}


def section(title: str) -> str:
    found = re.search(rf"^##+ (?:\d+\. )?{re.escape(title)}\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S)
    assert found, title
    return found[1]


def rows(title: str, first_column: str) -> list[dict[str, str]]:
    """A table of a section as dicts; the one whose first column has this heading."""
    lines = [line for line in section(title).splitlines() if line.startswith("|")]
    begin = next(i for i, line in enumerate(lines) if line.split("|")[1].strip() == first_column)
    cells = [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines[begin:]]
    # A table ends where the next heading's rule would come: another line of dashes.
    end = next((i for i in range(2, len(cells)) if set(cells[i][0]) == {"-"}), len(cells) + 1) - 1
    return [dict(zip(cells[0], row, strict=True)) for row in cells[2:end]]


def number(text: str) -> int:
    power, _, minus = text.partition(" - ")
    base, _, exponent = power.partition("^")
    return int(base) ** int(exponent or 1) - int(minus or 0)


def constants() -> dict[str, Any]:
    said = {row["constant"]: row["value"].strip("`") for row in rows("Words and conventions", "constant")}
    return {name: bytes.fromhex(text) if name == "MAGIC" else number(text) for name, text in said.items()}


def code_constant(name: str) -> Any:
    if name in ("HEADER_BYTES", "ENTRY_BYTES"):
        return (header.HEADER if name == "HEADER_BYTES" else header.ENTRY).size
    modules = (header, sample_table, arrow_stream, manifest)
    return next(getattr(module, name) for module in modules if hasattr(module, name))


@pytest.mark.parametrize(("name", "value"), constants().items())
def test_constants_are_those_of_the_code(name: str, value: Any) -> None:
    assert code_constant(name) == value


def test_every_constant_of_the_code_is_on_the_page() -> None:
    names = {n for m in (header, sample_table, arrow_stream, manifest) for n in m.__all__ if n.isupper()}
    structs_and_others = {"HEADER", "ENTRY", "CODEC_NAMES", "SYSTEM_COLUMNS", "MANIFEST_NAME"}
    assert names - structs_and_others <= set(constants())


@pytest.mark.parametrize(("title", "layout"), [("Header", header.HEADER), ("Directory", header.ENTRY)])
def test_fields_lie_where_the_page_says(title: str, layout: struct.Struct) -> None:
    offset, codes = 0, "<"
    for row in rows(title, "offset"):
        assert int(row["offset"]) == offset
        codes += CODES.get(row["type"], f"{row['bytes']}s")
        assert struct.calcsize(codes) == offset + int(row["bytes"])
        offset += int(row["bytes"])
    assert codes == layout.format
    assert offset == layout.size


def test_columns_are_those_of_the_code() -> None:
    said = {row["column"]: row["Arrow type"] for row in rows("Sample table", "column")}
    code = {f.name: re.sub("item: ", "", str(f.type)) for f in sample_table.system_schema(7)}
    assert said == {name: kind.replace("[7]", "[L]") for name, kind in code.items()}


def test_columns_of_the_index_are_those_of_the_code() -> None:
    said = {row["column"]: row["Arrow type"] for row in rows("index.arrow", "column")}
    schema = read_stream((EXAMPLE / "index.arrow").read_bytes()).schema
    code = {f.name: re.sub("item: ", "", str(f.type)) for f in schema}
    assert said == {name: kind.replace("[4]", "[L + 2]") for name, kind in code.items()}


def test_keys_of_the_description_are_those_of_the_code() -> None:
    said = [row["key"] for row in rows("dataset.json", "key")]
    assert said == list(json.loads((EXAMPLE / "dataset.json").read_text()))


def test_codecs_are_those_of_the_code() -> None:
    assert {int(row["id"]): row["name"] for row in rows("Codecs", "id")} == sample_table.CODEC_NAMES


def test_outcomes_are_errors_of_the_library() -> None:
    said = [row["error of the library"] for row in rows("Prefixes and outcomes", "outcome")]
    names = [re.match(r"\w*", text)[0] for text in said]
    assert [n for n in names if n] == ["NeedMoreBytes", "CorruptRecord", "UnsupportedFormat"]
    assert all(hasattr(errors, n) for n in names if n)


def example(name: str) -> list[str]:
    found = re.search(rf"<!-- example: {name} -->\n(.*?)<!-- end -->", PAGE, re.S)
    assert found
    return [line[4:] for line in found[1].splitlines() if line.startswith("    ")]


def example_record() -> bytes:
    data = b""
    for line in example("record"):
        if not line.startswith(";"):
            offset, text = line.partition(";")[0].split(maxsplit=1)
            assert int(offset, 16) == len(data), line
            data += bytes.fromhex(text)
    return data


def test_the_example_is_the_golden_file() -> None:
    assert example_record() == (EXAMPLE / record_name(0)).read_bytes()
    assert "\n".join(example("manifest")) + "\n" == (EXAMPLE / "dataset.json").read_text()


def test_the_example_is_what_the_page_says_of_it() -> None:
    record = parse_record(example_record(), fidelity=2, where="page", extras=True)
    said = dict(re.findall(r"; (\w+) = (\d+)$", "\n".join(example("record")), re.M))
    assert (len(record), record.header.num_levels) == (2, 2)
    assert record.header.file_bytes == len(example_record()) == int(said["file_bytes"])
    rows_said = dict(re.findall(r"^;   (\w+\[\d\]) = (.*)$", "\n".join(example("record")), re.M))
    for index in range(2):
        assert rows_said[f"_key[{index}]"] == repr(record.table.keys[index].as_py())
        assert rows_said[f"label[{index}]"] == repr(record.fields(index)["label"])
        assert rows_said[f"_lengths[{index}]"] == repr(record.table.lengths[index].tolist())
    assert [bytes(part) for part in record.slices(1)] == [b"hello", b""]
    assert record.extras(0)[1] == b"bye"


def test_the_page_alone_finds_every_section_of_the_example() -> None:
    """The tables of sections 2 and 3, applied to the example, give what the library reads."""
    data = example_record()

    def take(title: str, base: int) -> dict[str, int]:
        return {
            row["field"]: int.from_bytes(data[base + int(row["offset"]) :][: int(row["bytes"])], "little")
            for row in rows(title, "offset")
        }

    parsed = header.parse_header(data, where="page")
    assert take("Header", 0)["checksum"] == parsed.checksum
    for i, known in enumerate(parsed.sections):
        entry = take("Directory", 64 + 40 * i)
        assert (entry["kind"], entry["level"], entry["offset"]) == (known.kind, known.level, known.offset)
        assert (entry["length"], entry["preamble"]) == (known.length, known.preamble)
        assert entry["checksum"] == known.checksum == xxh3(data[known.offset : known.end])


def test_the_checksum_rule_of_the_description_holds() -> None:
    text = "\n".join(example("manifest")).encode() + b"\n"
    assert re.fullmatch(rb'"xxh3": "[0-9a-f]{16}"\n}\n', text[-29:])
    assert f"{xxh3(text[:-20] + b'0' * 16 + text[-4:]):016x}".encode() == text[-20:-4]
    about = manifest.parse_manifest(text, where="page")
    index = (EXAMPLE / "index.arrow").read_bytes()
    assert len(decode_index(index, num_levels=2, checksum=about.index_checksum, where="index")) == 1


def test_sections_are_numbered_as_the_code_cites_them() -> None:
    numbers = dict(re.findall(r"^## (\d+)\. (.*)$", PAGE, re.M))
    assert list(numbers) == [str(i) for i in range(1, len(numbers) + 1)]
    cited = {}
    for path in (ROOT / "src" / "halfbyte").rglob("*.py"):
        for found in re.finditer(r"docs/format.md, section (\d+)", path.read_text()):
            cited[path.stem] = numbers[found[1]]
    assert cited["header"] == "Header"
    assert cited["directory"] == "Directory"
    assert cited["sample_table"] == cited["fields"] == "Sample table"
    assert (cited["index"], cited["manifest"]) == ("index.arrow", "dataset.json")

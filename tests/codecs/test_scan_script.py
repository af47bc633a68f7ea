from __future__ import annotations

import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfbyte.codecs.scan_script import PRESETS, ScanScript
from halfbyte.errors import ScanScriptError

DC = "0,1,2: 0-0, 0, 0;\n"
AC_OF_CHROMA = "1: 1-63, 0, 0; 2: 1-63, 0, 0;"


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_legal_and_name_every_level(name: str) -> None:
    script = ScanScript.preset(name)
    assert script.levels == len(script.level_names) == len(set(script.level_names))
    assert script.native().num_levels == script.levels


def test_standard_is_libjpegs_ten_scans() -> None:
    script = ScanScript.preset("standard")
    assert [str(level[0]) for level in script.scans][:6] == [
        "0,1,2: 0-0, 0, 1;",
        "0: 1-5, 0, 2;",
        "2: 1-63, 0, 1;",
        "1: 1-63, 0, 1;",
        "0: 6-63, 0, 2;",
        "0: 1-63, 2, 1;",
    ]
    assert all(len(level) == 1 for level in script.scans)


def test_levels_are_named_for_people() -> None:
    assert ScanScript.preset("standard").level_names == (
        "DC", "Y 1-5", "Cr", "Cb", "Y 6-63", "Y refine bit 1", "DC refine bit 0",
        "Cr refine bit 0", "Cb refine bit 0", "Y refine bit 0",
    )  # fmt: skip


def test_spectral_refines_nothing() -> None:
    assert all(scan.al == 0 for level in ScanScript.preset("spectral").scans for scan in level)


def test_grey_keeps_the_level_numbers() -> None:
    levels = ScanScript.preset("standard").native().levels("gray")
    assert [len(level) for level in levels] == [1, 1, 0, 0, 1, 1, 1, 0, 0, 1]


def test_cmyk_gives_every_component_the_scans_of_luma() -> None:
    levels = ScanScript.preset("standard").native().levels("cmyk")
    assert levels[0] == [([0, 1, 2, 3], 0, 0, 0, 1)]
    assert levels[1] == [([i], 1, 5, 0, 2) for i in range(4)]
    assert sum(map(len, levels)) == 18


def test_ycck_treats_black_as_luma() -> None:
    levels = ScanScript.preset("standard").native().levels("ycck")
    assert levels[0] == [([0, 1, 2, 3], 0, 0, 0, 1)]
    assert levels[1] == [([0], 1, 5, 0, 2), ([3], 1, 5, 0, 2)]
    assert levels[2] == [([2], 1, 63, 0, 1)]


def test_a_line_is_a_level_and_comments_are_dropped() -> None:
    text = f"# mine\n 0 1 2 : 0 0 0 0 ;\n\n0: 1-63, 0, 0; {AC_OF_CHROMA} # all at once\n"
    script = ScanScript.from_text(text, name="mine")
    assert script.levels == 2
    assert script.text == f"0,1,2: 0-0, 0, 0;\n0: 1-63, 0, 0; {AC_OF_CHROMA}\n"


@pytest.mark.parametrize("name", PRESETS)
def test_text_and_dict_round_trip(name: str) -> None:
    script = ScanScript.preset(name)
    assert ScanScript.from_text(script.text, name=name) == script
    assert ScanScript.from_dict(json.loads(json.dumps(script.to_dict()))) == script
    assert pickle.loads(pickle.dumps(script)).native().num_levels == script.levels


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (DC + "0: 1-63 0;", "line 2, column 1: expected a scan such as '0: 1-5, 0, 2;', found '0: 1-63 0;'"),
        ("0,1,2: 0-0, 0, 0; x", "line 1, column 19: .*, found 'x'"),
        ("0,1,2;", "line 1, column 1: expected a scan"),
        ("9999: 0-0, 0, 0;", "line 1, column 1: expected a scan"),
        ("", "ycc: no levels: give at least one scan"),
    ],
)
def test_parse_errors_name_line_and_column(text: str, message: str) -> None:
    with pytest.raises(ScanScriptError, match=message):
        ScanScript.from_text(text)


ILLEGAL = [
    (DC + "0: 1-5, 2, 1;", r"scan 2 \(component 0, 1-5, Ah 2, Al 1\): the first scan .* must have Ah 0"),
    (DC + "0: 1-5, 0, 2;\n0: 1-5, 1, 0;", r"scan 3 \(component 0, 1-5, Ah 1, Al 0\): Ah must equal the Al"),
    (DC + "0: 1-5, 0, 2;\n0: 1-5, 2, 0;", r"scan 3 .*: a refinement must have Ah = Al \+ 1"),
    (DC + "0: 1-5, 0, 0;\n0: 5-63, 0, 0;", r"scan 3 .*: a coefficient was coded before"),
    (DC + "0,1: 1-5, 0, 0;", r"scan 2 \(components 0 1, .*: an AC scan codes one component"),
    ("0: 0-5, 0, 0;", r"scan 1 .*: a band that starts with DC must end there \(0-0\)"),
    ("0: 1-5, 0, 0;", r"scan 1 .*: the DC scan of a component must come before its AC scans"),
    ("0,1,2: 0-64, 0, 0;", r"scan 1 .*: the band must lie in 0-63"),
    ("0,1,2: 0-0, 0, 11;", r"scan 1 .*: Ah and Al must lie in 0..10"),
    ("0,2,1: 0-0, 0, 0;", r"scan 1 .*: components must be in increasing order"),
    ("0,0,1: 0-0, 0, 0;", r"scan 1 .*: components must be in increasing order"),
    ("0,1,3: 0-0, 0, 0;", r"scan 1 .*: there is no such component"),
    ("0 1 2 3 4: 0-0, 0, 0;", r"scan 1 .*: a scan codes 1 to 4 components"),
    (DC + "0: 1-63, 0, 0;" + AC_OF_CHROMA[:-2] + "1;", "no scan completes coefficient 1 of component 2"),
    ("0: 0-0, 0, 0;\n1: 0-0, 0, 0;", "no scan completes coefficient 1 of component 0: its last scan must"),
    (
        "0: 0-0, 0, 0;\n1,2: 0-0, 0, 0; 0: 1-63, 0, 0;" + AC_OF_CHROMA,
        "level 1 lacks the DC scan of component 1: put the first DC scan of every component there",
    ),
    (DC * 257, r"scan 2 .*: a coefficient was coded before"),
]


@pytest.mark.parametrize(("text", "message"), ILLEGAL)
def test_illegal_scripts_name_the_scan(text: str, message: str) -> None:
    with pytest.raises(ScanScriptError, match=f"^ycc: {message}"):
        ScanScript("bad", text)


@pytest.mark.parametrize("data", [None, {}, {"name": "x"}, {"name": 1, "text": ""}])
def test_foreign_descriptions_are_refused(data: object) -> None:
    with pytest.raises(ScanScriptError, match="a scan script is described by"):
        ScanScript.from_dict(data)


def test_unknown_presets_are_refused() -> None:
    with pytest.raises(ScanScriptError, match="is called 'best': choose one of standard, spectral, fine"):
        ScanScript.preset("best")


@given(st.text(alphabet="0123456789,-:; #\n", max_size=60))
def test_any_text_is_a_script_or_an_error(text: str) -> None:
    try:
        script = ScanScript.from_text(text)
    except ScanScriptError:
        return
    assert ScanScript.from_text(script.text) == script

"""Scan scripts: which scans a progressive JPEG is made of, and which of them are read together.

The text is what ``cjpeg -scans`` reads, for a YCbCr image: ``components: Ss-Se, Ah, Al;`` with components
0 (Y), 1 (Cb) and 2 (Cr). One line is one level: its scans are stored together. ``#`` starts a comment.
Scripts for other colours are derived by role, so that a level stands for the same fidelity in all of them:

- grey takes the scans of component 0; a level without them is empty;
- RGB and CMYK give every component the scans of component 0;
- YCCK treats K like Y.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, get_args

from halfbyte import _native
from halfbyte.errors import ScanScriptError

__all__ = ["PRESETS", "Scan", "ScanScript"]

PresetName = Literal["standard", "spectral", "fine"]

# libjpeg's ten scans for YCbCr (jpeg_simple_progression), one a level, as in the paper on such records.
_STANDARD: Final = """\
0,1,2: 0-0, 0, 1;
0: 1-5, 0, 2;
2: 1-63, 0, 1;
1: 1-63, 0, 1;
0: 6-63, 0, 2;
0: 1-63, 2, 1;
0,1,2: 0-0, 1, 0;
2: 1-63, 1, 0;
1: 1-63, 1, 0;
0: 1-63, 1, 0;
"""

# No successive approximation: decoders spend most of their time on refinements.
_SPECTRAL: Final = """\
0,1,2: 0-0, 0, 0;
0: 1-2, 0, 0;
1: 1-5, 0, 0;
2: 1-5, 0, 0;
0: 3-9, 0, 0;
0: 10-20, 0, 0;
1: 6-63, 0, 0;
2: 6-63, 0, 0;
0: 21-35, 0, 0;
0: 36-63, 0, 0;
"""

# Smaller steps up to two thirds of the bytes. The chroma planes go together, since half of the colours helps
# nobody. Every further cut of a refinement costs 1 % of all bytes, so the last one, which only the most
# careful readers need, stays whole.
_FINE: Final = """\
0,1,2: 0-0, 0, 1;
0: 1-2, 0, 2;
0: 3-5, 0, 2;
1: 1-63, 0, 1; 2: 1-63, 0, 1;
0: 6-14, 0, 2;
0: 15-63, 0, 2;
0: 1-5, 2, 1;
0: 6-63, 2, 1;
0,1,2: 0-0, 1, 0;
1: 1-63, 1, 0; 2: 1-63, 1, 0;
0: 1-5, 1, 0;
0: 6-63, 1, 0;
"""

PRESETS: Final[dict[str, str]] = {"standard": _STANDARD, "spectral": _SPECTRAL, "fine": _FINE}

_COLOR_MODELS: Final = {"ycc": 3, "gray": 1, "rgb": 3, "cmyk": 4, "ycck": 4}
_COMPONENT_NAMES: Final = ("Y", "Cb", "Cr")
_NUMBER: Final = "[0-9]{1,3}"
_SCAN: Final = re.compile(
    rf"\s*(?P<components>{_NUMBER}(?:[\s,]+{_NUMBER})*)\s*:"
    rf"\s*(?P<ss>{_NUMBER})\s*[-\s,]\s*(?P<se>{_NUMBER})[\s,]+(?P<ah>{_NUMBER})[\s,]+(?P<al>{_NUMBER})\s*;"
)


@dataclass(frozen=True)
class Scan:
    """One scan of a script.

    Args:
        components: indices of the components that it codes.
        ss: first coefficient, in zigzag order, 0 to 63.
        se: last coefficient.
        ah: bit position at which an earlier scan left these coefficients; 0 for their first scan.
        al: bit position at which this scan leaves them; 0: complete.
    """

    components: tuple[int, ...]
    ss: int
    se: int
    ah: int
    al: int

    def __str__(self) -> str:
        components = ",".join(map(str, self.components))
        return f"{components}: {self.ss}-{self.se}, {self.ah}, {self.al};"

    @property
    def label(self) -> str:
        """What it adds, for people: "DC", "Y 1-5", "Cr refine bit 0"."""
        whole = self.ss == 0 and len(self.components) == len(_COMPONENT_NAMES)
        who = "" if whole else "+".join(_COMPONENT_NAMES[i] for i in self.components)
        band = "DC" if self.ss == 0 else "" if (self.ss, self.se) == (1, 63) else f"{self.ss}-{self.se}"
        refinement = f"refine bit {self.al}" if self.ah else ""
        return " ".join(part for part in (who, band, refinement) if part)


@dataclass(frozen=True)
class ScanScript:
    """A legal scan script with a name.

    Args:
        name: of a preset, or any other for a script of one's own.
        text: the scans, one level a line (see the module).

    Raises:
        ScanScriptError: the text cannot be parsed (the message names line and column), or a scan breaks a
            rule of progressive JPEG (the message names the scan).

    Source: ITU-T T.81, G.1.1.1; libjpeg's wizard.txt.
    """

    name: str
    text: str

    def __post_init__(self) -> None:
        self.native()

    @classmethod
    def preset(cls, name: PresetName | str) -> ScanScript:
        """The preset of that name: "standard", "spectral" or "fine".

        Raises:
            ScanScriptError: there is no such preset.
        """
        if name not in PRESETS:
            known = ", ".join(get_args(PresetName))
            raise ScanScriptError(f"no scan script is called {name!r}: choose one of {known}, or give a file")
        return cls(name, PRESETS[name])

    @classmethod
    def from_text(cls, text: str, *, name: str = "custom") -> ScanScript:
        """The script that a text spells, in canonical form: comments and blank lines are dropped.

        Raises:
            ScanScriptError: as for the class.
        """
        return cls(name, _format(_parse(text)))

    @classmethod
    def from_dict(cls, data: object) -> ScanScript:
        """The script that `to_dict` described.

        Raises:
            ScanScriptError: this is no such description.
        """
        match data:
            case {"name": str(name), "text": str(text)}:
                return cls(name, text)
        raise ScanScriptError(f'a scan script is described by {{"name": str, "text": str}}, not by {data!r}')

    def to_dict(self) -> dict[str, str]:
        """A JSON-able description."""
        return {"name": self.name, "text": self.text}

    @property
    def scans(self) -> tuple[tuple[Scan, ...], ...]:
        """The scans of a YCbCr image, level by level."""
        return _parse(self.text)

    @property
    def levels(self) -> int:
        """The number of levels."""
        return len(self.scans)

    @property
    def level_names(self) -> tuple[str, ...]:
        """What each level adds, for people."""
        return tuple(", ".join(scan.label for scan in level) for level in self.scans)

    def native(self) -> _native.ScanScript:
        """The script as the native core takes it, for every colour model; made once for each text."""
        return _native_script(self.text)


def _format(levels: tuple[tuple[Scan, ...], ...]) -> str:
    return "".join(" ".join(map(str, level)) + "\n" for level in levels)


@lru_cache(maxsize=64)
def _parse(text: str) -> tuple[tuple[Scan, ...], ...]:
    lines = ((number, line.partition("#")[0].rstrip()) for number, line in enumerate(text.splitlines(), 1))
    return tuple(_parse_level(number, line) for number, line in lines if line)


def _parse_level(number: int, line: str) -> tuple[Scan, ...]:
    scans = []
    at = 0
    while at < len(line):
        match = _SCAN.match(line, at)
        if match is None:
            found = line[at:].lstrip()
            where = f"line {number}, column {len(line) - len(found) + 1}"
            raise ScanScriptError(f"{where}: expected a scan such as '0: 1-5, 0, 2;', found {found[:40]!r}")
        components = tuple(map(int, re.findall(r"\d+", match["components"])))
        scans.append(Scan(components, int(match["ss"]), int(match["se"]), int(match["ah"]), int(match["al"])))
        at = match.end()
    return tuple(scans)


@lru_cache(maxsize=64)
def _native_script(text: str) -> _native.ScanScript:
    levels = _parse(text)
    return _native.ScanScript({model: [_derive(model, level) for level in levels] for model in _COLOR_MODELS})


def _derive(model: str, level: tuple[Scan, ...]) -> list[tuple[tuple[int, ...], int, int, int, int]]:
    """The scans that a level holds for images of another colour model."""
    derived = []
    for scan in level:
        components = _derive_components(model, scan.components)
        # Several components may share a scan only if it codes DC.
        groups = [components] if scan.ss == 0 else [(component,) for component in components]
        if model == "ycc":
            groups = [scan.components]  # as written: what is wrong with it is for the check to say
        derived += [(group, scan.ss, scan.se, scan.ah, scan.al) for group in groups if group]
    return derived


def _derive_components(model: str, components: tuple[int, ...]) -> tuple[int, ...]:
    luma = 0 in components
    match model:
        case "gray":
            return (0,) if luma else ()
        case "ycck":
            return (*components, 3) if luma else components
        case _:
            return tuple(range(_COLOR_MODELS[model])) if luma else ()

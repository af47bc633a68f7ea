"""Every error that halfbyte raises on purpose.

The tree (each leaf is also the builtin that a caller would expect)::

    HalfbyteError
    ├── RecordError                     the bytes of a data set
    │   ├── NotADataset      FileNotFoundError   no data set at this path
    │   ├── NeedMoreBytes    EOFError            a prefix: whole so far, but too short for what was asked
    │   ├── CorruptRecord    ValueError          bytes that contradict their checksum or the format
    │   └── UnsupportedFormat ValueError         a newer version or an unknown required feature
    ├── ImageError                      one image
    │   ├── CorruptImage     ValueError          damaged: a decoder would have to guess
    │   ├── UnsupportedImage ValueError          sound, but of a kind that this operation cannot take
    │   ├── LimitExceeded    ValueError          refused before any memory was allocated for it
    │   └── MissingDecoder   ImportError         needs an optional package
    ├── ScanScriptError      ValueError          an illegal list of scans
    ├── FidelityError        ValueError          no such fidelity in this data set
    ├── StateError           ValueError          a state that does not belong to this data set or epoch
    ├── ConvertError         RuntimeError        conversion cannot go on
    │   ├── SourceError      ValueError          the source is not a folder or list of images
    │   └── OutputExists     FileExistsError     the output folder holds something else
    └── LoaderError          RuntimeError        a loader's thread failed; says record and sample
"""

from __future__ import annotations

__all__ = [
    "ConvertError",
    "CorruptImage",
    "CorruptRecord",
    "FidelityError",
    "HalfbyteError",
    "ImageError",
    "LimitExceeded",
    "LoaderError",
    "MissingDecoder",
    "NeedMoreBytes",
    "NotADataset",
    "OutputExists",
    "RecordError",
    "ScanScriptError",
    "SourceError",
    "StateError",
    "UnsupportedFormat",
    "UnsupportedImage",
]


class HalfbyteError(Exception):
    """Base of every error that halfbyte raises on purpose."""


class RecordError(HalfbyteError):
    """The bytes of a data set cannot be read as asked."""


class NotADataset(RecordError, FileNotFoundError):
    """There is no (complete) data set at the given path."""

    # OSError formats two or more arguments its own way; ours always has one.
    def __str__(self) -> str:
        return str(self.args[0])


class NeedMoreBytes(RecordError, EOFError):
    """What was given is a sound prefix, but too short for what was asked.

    Attributes:
        have: bytes at hand.
        need: bytes that are known to be needed (at least).
    """

    def __init__(self, message: str, have: int = 0, need: int = 0) -> None:
        super().__init__(message, have, need)
        self.have = have
        self.need = need

    def __str__(self) -> str:
        return str(self.args[0])


class CorruptRecord(RecordError, ValueError):
    """Bytes contradict their checksum or the format."""


class UnsupportedFormat(RecordError, ValueError):
    """A newer version of the format, or a required feature that this release does not know."""


class ImageError(HalfbyteError):
    """One image cannot be handled as asked."""


class CorruptImage(ImageError, ValueError):
    """The image is damaged: a decoder would have to guess."""


class UnsupportedImage(ImageError, ValueError):
    """The image is sound, but of a kind that this operation cannot take."""


class LimitExceeded(ImageError, ValueError):
    """The image asks for more than a named limit allows; nothing was allocated for it."""


class MissingDecoder(ImageError, ImportError):
    """Decoding this kind of image needs an optional package that is not installed."""


class ScanScriptError(HalfbyteError, ValueError):
    """A scan script breaks a rule of progressive JPEG (ITU-T T.81, G.1.1.1)."""


class FidelityError(HalfbyteError, ValueError):
    """The data set has no such fidelity."""


class StateError(HalfbyteError, ValueError):
    """A saved state does not belong to this data set, epoch or configuration."""


class ConvertError(HalfbyteError, RuntimeError):
    """Conversion cannot go on; what was written so far stays resumable."""


class SourceError(ConvertError, ValueError):
    """The source is not a folder or a list of images that can be read."""


class OutputExists(ConvertError, FileExistsError):
    """The output folder holds something that conversion must not touch."""

    def __str__(self) -> str:
        return str(self.args[0])


class LoaderError(HalfbyteError, RuntimeError):
    """A loader's thread failed; the message names the record and the sample."""

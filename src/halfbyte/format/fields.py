"""Which columns of their own users may have: names and Arrow types (docs/format.md, section 4)."""

from __future__ import annotations

import pyarrow as pa
from pyarrow import types

__all__ = ["RESERVED_NAMES", "RESERVED_PREFIX", "FieldTypeError", "check_fields"]

RESERVED_PREFIX = "_"
RESERVED_NAMES = ("", "image")

# Arrow's type ids; the units of times and dates do not matter.
_SCALARS = frozenset(
    kind.id
    for kind in (
        pa.bool_(),
        *(pa.int8(), pa.int16(), pa.int32(), pa.int64()),
        *(pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
        *(pa.float16(), pa.float32(), pa.float64()),
        *(pa.string(), pa.large_string(), pa.binary(), pa.large_binary()),
        *(pa.date32(), pa.date64(), pa.time32("s"), pa.time64("us")),
        *(pa.timestamp("us"), pa.duration("us")),
    )
)


class FieldTypeError(ValueError):
    """A column of an Arrow type that version 1 does not allow."""


def check_fields(schema: pa.Schema) -> None:
    """Raise ValueError unless every column may be a user's field.

    The types are those that cost at least a bit for every value that they hold: a table of n bytes cannot
    then unfold to more than a fixed multiple of n values.
    """
    for field in schema:
        if field.name in RESERVED_NAMES or field.name.startswith(RESERVED_PREFIX):
            raise ValueError(
                f"field {field.name!r}: names are not empty, not 'image' (the picture itself), and do not "
                f"begin with {RESERVED_PREFIX!r} (the format's own columns); rename the field"
            )
        if not (types.is_null(field.type) or _is_allowed(field.type)):
            raise FieldTypeError(
                f"field {field.name!r} is of type {field.type}; use numbers, strings, binary, dates, times, "
                f"or lists and structs of these"
            )


def _is_allowed(kind: pa.DataType) -> bool:
    if types.is_list(kind) or types.is_large_list(kind):
        return _is_allowed(kind.value_type)
    if types.is_fixed_size_list(kind):
        return kind.list_size > 0 and _is_allowed(kind.value_type)
    if types.is_struct(kind):
        return kind.num_fields > 0 and all(_is_allowed(kind.field(i).type) for i in range(kind.num_fields))
    return kind.id in _SCALARS

"""Of results/activations_kernels.json: how fast codecs pack and unpack, and how small what they make is."""

from __future__ import annotations

from typing import Any

from drawing.markdown import table

Results = dict[str, Any]
SIZES = ("64 MiB", "512 KiB")
ARMS = "2 threads, avx512"
# Names of arms, and what stands for them in the table.
ROWS = {
    "memcpy": "memcpy, into memory that is there",
    "memcpy into new memory": "memcpy, into new memory",
    "torch bfloat16": "torch to bfloat16 and back",
    "torch int8": "torch to int8 and back",
    "zstd level 1": "zstd, level 1",
    "SZ3 at the error of 8 bits": "SZ3, at the error of 8 bits",
    "ZFP at the error of 8 bits": "ZFP, at the error of 8 bits",
    "ReluMask": "`ReluMask`",
    "Sfpr(8 bits)": "`Sfpr`, 8 bits",
    "JpegAct(optL)": '`JpegAct("optL")`',
    "JpegAct(optH)": '`JpegAct("optH")`',
    "JpegAct(optH, rle)": '`JpegAct("optH", coder="rle")`',
    "GroupQuantized(8 bits)": "`GroupQuantized`, 8 bits",
    "GroupQuantized(2 bits)": "`GroupQuantized`, 2 bits",
    "GroupQuantized(2 bits, nearest)": "`GroupQuantized`, 2 bits, to nearest",
    "ErrorBounded at the error of 8 bits": "`ErrorBounded`, at the error of 8 bits",
    "ErrorBounded at the error of 8 bits, fixed": '`ErrorBounded(coder="fixed")`, the same error',
}


def speeds(document: Results) -> str:
    """Ratios on a smooth map and after a ReLU, and GB/s on the smooth one."""
    smooth = [document["results"][f"{size} smooth, {ARMS}"] for size in SIZES]
    rectified = document["results"][f"{SIZES[0]} rectified, {ARMS}"]
    head = ["", "ratio, smooth", "ratio, after a ReLU"]
    head += [f"{way}, {size}" for size in SIZES for way in ("pack", "unpack")]
    rows = [
        (
            label,
            *(f"{found[name]['ratio']:.3g}" for found in (smooth[0], rectified)),
            *(f"{found[name][way]['gb_per_s']:.2g}" for found in smooth for way in ("pack", "unpack")),
        )
        for name, label in ROWS.items()
    ]
    return table(head, rows)

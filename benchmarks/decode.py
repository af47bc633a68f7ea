"""What does each fidelity cost to decode, against the baseline file by the same library and by others?

One core, full size, RGB, in the same process. Pillow and simplejpeg bring libjpeg-turbo builds of their own.
"""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np
import simplejpeg
from harness import Arm, measure, photos, save
from PIL import Image

from halfbyte.codecs.jpeg import encode_jpeg
from halfbyte.codecs.pixels import decode_pixels
from halfbyte.codecs.scan_script import ScanScript
from halfbyte.format.sample_table import CODEC_JPEG

Prepared = list[tuple[tuple[bytes, ...], tuple[int, int]]]


def decode_all(prepared: Prepared, levels: int) -> None:
    for slices, size in prepared:
        decode_pixels(CODEC_JPEG, slices[:levels], size=size)


def pillow_all(files: Sequence[bytes]) -> None:
    for data in files:
        np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


def simplejpeg_all(files: Sequence[bytes]) -> None:
    for data in files:
        # The same inverse DCT and upsampling as everybody else here; its defaults are faster and less exact.
        simplejpeg.decode_jpeg(data, fastdct=False, fastupsample=False)


def main() -> None:
    paths, options = photos(__doc__ or "")
    files = [path.read_bytes() for path in paths]
    count, source = len(files), sum(map(len, files))
    encoded = {
        name: [encode_jpeg(f, key="", script=ScanScript.preset(name)) for f in files]
        for name in ("standard", "spectral", "fine")
    }
    baseline: Prepared = [
        ((f,), (e.width, e.height)) for f, e in zip(files, encoded["standard"], strict=True)
    ]
    arms = [
        Arm("baseline", count, lambda: decode_all(baseline, 1)),
        Arm("baseline by Pillow", count, lambda: pillow_all(files)),
        Arm("baseline by simplejpeg", count, lambda: simplejpeg_all(files)),
    ]
    shares = {}
    for name, samples in encoded.items():
        prepared: Prepared = [(tuple(map(bytes, e.slices)), (e.width, e.height)) for e in samples]
        for level in range(1, len(samples[0].slices) + 1):
            arm = f"{name} {level}"
            shares[arm] = round(sum(len(s) for e in samples for s in e.slices[:level]) / source, 4)
            arms.append(Arm(arm, count, lambda p=prepared, k=level: decode_all(p, k)))
    results = measure(arms, repeats=options.repeats)
    for name, result in results.items():
        result["against_baseline"] = round(result["per_second"] / results["baseline"]["per_second"], 3)
        if name in shares:
            result["bytes_against_source"] = shares[name]
    save("decode", options, {"unit": "images", "images": count, "arms": results})


if __name__ == "__main__":
    main()

"""How fast is transcoding with proof, on one core, in MB of source a second? By scan script."""

from __future__ import annotations

from harness import Arm, measure, photos, save

from halfbyte.codecs.jpeg import encode_jpeg
from halfbyte.codecs.scan_script import ScanScript


def main() -> None:
    paths, options = photos(__doc__ or "")
    files = [path.read_bytes() for path in paths]
    size = sum(map(len, files))
    arms = []
    shares = {}
    for name in ("standard", "spectral", "fine"):
        script = ScanScript.preset(name)

        def run(script: ScanScript = script) -> int:
            return sum(sum(map(len, encode_jpeg(data, key="", script=script).slices)) for data in files)

        shares[name] = round(run() / size, 4)
        arms.append(Arm(name, size / 1e6, run))
    results = measure(arms, repeats=options.repeats)
    for name, share in shares.items():
        results[name]["bytes_against_source"] = share
    save("transcode", options, {"unit": "MB of source", "images": len(files), "arms": results})


if __name__ == "__main__":
    main()

"""Loader against torch's DataLoader with Pillow: the same photos, the same crops, the same cores, warm cache.

Random resized crop to 224 with flip; both give uint8 tensors (B, 3, 224, 224). The DataLoader decodes the
original files; Loader reads records at full, middle and low fidelity.
"""

from __future__ import annotations

import io
import os
import tempfile
from pathlib import Path

import numpy as np
import torch
from harness import Arm, measure, photos, save
from PIL import Image
from torch.utils.data import DataLoader, Dataset

import halfbyte
from halfbyte.loader.transforms import plan_views

SIZE, BATCH = 224, 64
VIEW = halfbyte.Transform(halfbyte.RandomResizedCrop(SIZE), flip=0.5)


class PillowPhotos(Dataset):
    """What an ImageFolder does, with halfbyte's choice of crops so that both do the same work."""

    def __init__(self, paths: list[Path]) -> None:
        self.paths = paths

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> torch.Tensor:
        image = Image.open(io.BytesIO(self.paths[index].read_bytes())).convert("RGB")
        views = plan_views(VIEW, [image.width], [image.height], seed=0, epoch=0, samples=[index])
        x, y, w, h = views.boxes[0].tolist()
        image = image.crop((x, y, x + w, y + h)).resize((SIZE, SIZE), Image.Resampling.BILINEAR)
        if views.flip[0]:
            image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        return torch.from_numpy(np.asarray(image).transpose(2, 0, 1).copy())


def consume(batches: object) -> None:
    for _ in batches:  # type: ignore[attr-defined]
        pass


def main() -> None:
    paths, options = photos(__doc__ or "")
    cores = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as folder:
        arms = [
            Arm(
                "DataLoader + Pillow, no workers",
                len(paths),
                lambda: consume(DataLoader(PillowPhotos(paths), BATCH, shuffle=True)),
            ),
            Arm(
                f"DataLoader + Pillow, {cores} workers",
                len(paths),
                lambda: consume(DataLoader(PillowPhotos(paths), BATCH, shuffle=True, num_workers=cores)),
            ),
        ]
        for script in ("standard", "spectral"):
            out = Path(folder) / script
            halfbyte.convert([str(p) for p in paths], out, script=script, quality=False)
            ds = halfbyte.open(out, transform=VIEW)
            for fidelity in (ds.num_levels, 5, 2, 1):
                loader = halfbyte.Loader(ds, batch_size=BATCH, fidelity=fidelity)
                arms.append(
                    Arm(f"Loader, {script}, fidelity {fidelity}", len(paths), lambda x=loader: consume(x))
                )
        results = measure(arms, repeats=options.repeats)
    peer = results[arms[1].name]["per_second"]
    for result in results.values():
        result["against_dataloader"] = round(result["per_second"] / peer, 3)
    save("loader", options, {"unit": "images", "images": len(paths), "cores": cores, "arms": results})


if __name__ == "__main__":
    main()

"""How fast do codecs of activations pack and unpack? Against a copy in memory, torch operations, and general
compressors: zstd at level 1, SZ3 and ZFP at the same error.

GB/s are of float32 bytes. All arms run in turn on the same tensors: a smooth map, a white one, and what a
ReLU leaves of the smooth one; of 64 MiB, which leave a core's caches between calls, and of 512 KiB, which
stay there. Every arm makes its result anew, as training does, except the copy into memory that is there
already.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import imagecodecs
import torch
from activations_step import smooth_images
from harness import RESULTS, machine
from torch import Tensor

import halfbyte.activations as act
from halfbyte import _native

SHAPES = {"64 MiB": (64, 64, 64, 64), "512 KiB": (2, 64, 32, 32)}
LEAST_SECONDS = 0.01
Pack = Callable[[Tensor], Any]
Unpack = Callable[[Any], Any]


@dataclass(frozen=True)
class Arm:
    """One way to pack and unpack a tensor, and the bytes that it takes."""

    name: str
    pack: Pack
    unpack: Unpack
    size: Callable[[Any], int]


def codec_arm(codec: act.Codec) -> Arm:
    return Arm(str(codec), codec.encode, lambda packed: packed.decode(), lambda packed: packed.nbytes)


def bound_of(x: Tensor) -> float:
    """Half a step of 8-bit fixed point."""
    return float(x.abs().max()) / 144 / 2


def peers(x: Tensor) -> list[Arm]:
    """The same on one core: none of these divides a tensor among threads as it is called here."""
    bound = bound_of(x)
    scale = float(x.abs().max()) / 127
    there, back = torch.empty_like(x), torch.empty_like(x)
    return [
        Arm("memcpy", there.copy_, back.copy_, lambda t: t.nbytes),
        Arm("memcpy into new memory", Tensor.clone, Tensor.clone, lambda t: t.nbytes),
        Arm("torch bfloat16", lambda t: t.bfloat16(), lambda p: p.float(), lambda p: p.nbytes),
        Arm(
            "torch int8",
            lambda t: (t / scale).round_().to(torch.int8),
            lambda p: p * scale,
            lambda p: p.nbytes,
        ),
        Arm("torch x > 0", lambda t: t > 0, lambda p: p.float(), lambda p: p.nbytes),
        Arm(
            "zstd level 1",
            lambda t: imagecodecs.zstd_encode(t.numpy(), level=1),
            imagecodecs.zstd_decode,
            len,
        ),
        Arm(
            "SZ3 at the error of 8 bits",
            lambda t: imagecodecs.sz3_encode(t.numpy(), mode="abs", abs=bound),
            lambda p: imagecodecs.sz3_decode(p, shape=x.shape, dtype="float32"),
            len,
        ),
        Arm(
            "ZFP at the error of 8 bits",
            lambda t: imagecodecs.zfp_encode(t.numpy(), mode="a", level=bound),
            imagecodecs.zfp_decode,
            len,
        ),
    ]


def error_bounded(x: Tensor) -> list[Arm]:
    name = "ErrorBounded at the error of 8 bits"
    bound = bound_of(x)
    return [
        replace(codec_arm(act.ErrorBounded(bound)), name=name),
        replace(codec_arm(act.ErrorBounded(bound, coder="fixed")), name=f"{name}, fixed"),
    ]


def codecs(x: Tensor) -> list[Arm]:
    return [
        codec_arm(codec)
        for codec in (
            act.ReluMask(),
            act.ZeroValue(),
            act.Sfpr(),
            act.Sfpr(bits=4),
            act.Sfpr(coder="zvc"),
            act.JpegAct("optL", gate=False),
            act.JpegAct("optH", gate=False),
            act.JpegAct("optH", coder="rle", gate=False),
            *(act.GroupQuantized(bits=bits) for bits in (8, 4, 3, 2, 1)),
            act.GroupQuantized(bits=2, stochastic=False),
        )
    ] + error_bounded(x)


def measure(arms: list[Arm], x: Tensor, repeats: int) -> dict[str, dict[str, Any]]:
    """GB/s each way, and how much smaller."""
    walls: dict[str, tuple[list[float], list[float]]] = {arm.name: ([], []) for arm in arms}
    ratios = {}
    for repeat in range(repeats + 1):
        for arm in arms:
            packing, packed = per_call(arm.pack, x)
            unpacking, _ = per_call(arm.unpack, packed)
            ratios[arm.name] = x.nbytes / max(1, arm.size(packed))
            if repeat:
                walls[arm.name][0].append(packing)
                walls[arm.name][1].append(unpacking)
    return {
        name: {
            "ratio": round(ratios[name], 2),
            "pack": rates(x.nbytes, pack),
            "unpack": rates(x.nbytes, unpack),
        }
        for name, (pack, unpack) in walls.items()
    }


def per_call(work: Callable[[Any], Any], argument: Any) -> tuple[float, Any]:
    """Seconds of a call among as many as take a few milliseconds, and what it gave."""
    start = time.perf_counter()
    result = work(argument)
    calls = 1
    while time.perf_counter() - start < LEAST_SECONDS:
        result = work(argument)
        calls += 1
    return (time.perf_counter() - start) / calls, result


def rates(nbytes: int, walls: list[float]) -> dict[str, float]:
    fastest, slowest = nbytes / min(walls) / 1e9, nbytes / max(walls) / 1e9
    middle = nbytes / statistics.median(walls) / 1e9
    return {"gb_per_s": round(middle, 2), "fastest": round(fastest, 2), "slowest": round(slowest, 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("--repeats", type=int, default=9)
    options = parser.parse_args()
    maps = {}
    for size, shape in SHAPES.items():
        smooth = smooth_images(shape)
        maps |= {f"{size} smooth": smooth, f"{size} white": torch.randn(shape)}
        maps |= {f"{size} rectified": smooth.relu()}
    results: dict[str, Any] = {}
    most = torch.get_num_threads()
    for kind, x in maps.items():
        for isa in _native.instruction_sets():
            _native.set_instruction_set(isa)
            best = isa == _native.instruction_sets()[-1]
            for threads in (1, most) if best else (most,):
                torch.set_num_threads(threads)
                arms = [*peers(x), *codecs(x)] if best else codecs(x)
                name = f"{kind}, {threads} threads, {isa}"
                results[name] = measure(arms, x, options.repeats)
                print(name)
                for arm, own in results[name].items():
                    pack, unpack = own["pack"]["gb_per_s"], own["unpack"]["gb_per_s"]
                    print(f"  {arm:42} {own['ratio']:6.2f}x {pack:7.2f} {unpack:7.2f} GB/s", flush=True)
    document = {
        "benchmark": "activations_kernels",
        "shapes": SHAPES,
        "repeats": options.repeats,
        "machine": machine(),
        "results": results,
    }
    (RESULTS / "activations_kernels.json").write_text(json.dumps(document, indent=2) + "\n")


if __name__ == "__main__":
    main()

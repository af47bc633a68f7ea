// Signatures and docstrings of what decode.cpp binds.
#pragma once

namespace halfbyte::bind {

inline constexpr const char* kPoolDoc =
    "Threads that decode, shared by any number of callers.\n\n"
    "The calling thread works too: a pool of one starts no thread. Threads start with the first batch, and again in\n"
    "a child of fork; signals stay with Python.\n\n"
    "Args:\n"
    "    num_threads: 1 to 1024.\n\n"
    "Raises:\n"
    "    ValueError: another number.";

inline constexpr const char* kDecodeSignature =
    "def decode(pool: Pool, buffers: collections.abc.Sequence[typing_extensions.Buffer], "
    "slices: numpy.typing.NDArray[numpy.int64], starts: numpy.typing.NDArray[numpy.int64], "
    "boxes: numpy.typing.NDArray[numpy.float64], clip: bool, orientation: numpy.typing.NDArray[numpy.uint8], "
    "flip: numpy.typing.NDArray[numpy.bool_] | numpy.typing.NDArray[numpy.uint8], "
    "sizes: numpy.typing.NDArray[numpy.int64], "
    "out: numpy.typing.NDArray[numpy.uint8] | numpy.typing.NDArray[numpy.float32], "
    "lut: numpy.typing.NDArray[numpy.float32] | None, limits: Limits = ..., *, "
    "min_scale_ratio: float = ...) -> list[tuple[int, str, str]]";

inline constexpr const char* kDecodeDoc =
    "Decodes a batch of JPEG prefixes into caller's memory: crop, orientation, resampling, mirroring and\n"
    "normalization in one go, without the lock.\n\n"
    "Resampling is antialiased bilinear, equal to Pillow's bit for bit where no DCT scaling takes part (horizontal\n"
    "pass first, as Pillow before version 13 always has it). Grey is the Y plane, or BT.601 luma of RGB and CMYK.\n"
    "A prefix that holds only DC coefficients is decoded at 1/8 and interpolated.\n\n"
    "Args:\n"
    "    pool: does the work.\n"
    "    buffers: objects with the buffer protocol, read in place.\n"
    "    slices: (S, 3) int64: buffer, offset and length in bytes; a sample's levels in order, without end-of-image.\n"
    "    starts: (n + 1,) int64: sample i is made of slices[starts[i]:starts[i + 1]].\n"
    "    boxes: (n, 4) float64: x, y, width, height in pixels of the upright picture.\n"
    "    clip: filter only pixels of the box (crop, then resize); else of the whole picture (resize, then crop).\n"
    "    orientation: (n,) uint8, EXIF 1 to 8.\n"
    "    flip: (n,) bool: mirror left to right at the end.\n"
    "    sizes: (n, 2) int64: width and height that each header must have, in pixels as stored.\n"
    "    out: (n, C, H, W) uint8 or float32, any strides; C is 1 or 3.\n"
    "    lut: (C, 256) float32, the value of each pixel value, for a float32 out; None for uint8.\n"
    "    limits: caps on what a header may ask for.\n"
    "    min_scale_ratio: use the smallest DCT scale that leaves this many pixels of the box for each output pixel\n"
    "        in both directions (1 or more; departs from Pillow); 0, the default, or infinity: decode at full size.\n\n"
    "Returns:\n"
    "    What failed: index in the batch, name of the class in halfbyte.errors (or MemoryError), message. The output\n"
    "    of those samples is zero.\n\n"
    "Raises:\n"
    "    ValueError: an argument has the wrong shape, type or range; nothing was decoded.";

inline constexpr const char* kResampleSignature =
    "def resample(pixels: numpy.typing.NDArray[numpy.uint8], box: tuple[float, float, float, float], clip: bool, "
    "orientation: int, flip: bool, "
    "out: numpy.typing.NDArray[numpy.uint8] | numpy.typing.NDArray[numpy.float32], "
    "lut: numpy.typing.NDArray[numpy.float32] | None = None) -> None";

inline constexpr const char* kResampleDoc =
    "Resamples a picture that was decoded elsewhere, as decode does.\n\n"
    "Args:\n"
    "    pixels: (height, width, 1 or 3) or (height, width) uint8 as stored; rows contiguous.\n"
    "    box: x, y, width, height in pixels of the upright picture.\n"
    "    clip: filter only pixels of the box; else of the whole picture.\n"
    "    orientation: EXIF, 1 to 8.\n"
    "    flip: mirror left to right at the end.\n"
    "    out: (C, H, W) uint8 or float32, any strides; C is 1 (BT.601 luma) or 3 (RGB).\n"
    "    lut: (C, 256) float32 for a float32 out; None for uint8.\n\n"
    "Raises:\n"
    "    ValueError: an argument has the wrong shape, type or range.";

inline constexpr const char* kMsSsimSignature =
    "def ms_ssim(a: numpy.typing.NDArray[numpy.uint8], b: numpy.typing.NDArray[numpy.uint8]) -> float";

inline constexpr const char* kMsSsimDoc =
    "Multi-scale structural similarity of two pictures, on BT.601 luma.\n\n"
    "Pictures too small for five scales use as many as fit, with the weights of those; below 11 pixels a single\n"
    "window covers all.\n\n"
    "Args:\n"
    "    a: (height, width, 1 or 3) or (height, width) uint8.\n"
    "    b: the same shape.\n\n"
    "Returns:\n"
    "    In [0, 1]; exactly 1 for equal pictures.\n\n"
    "Raises:\n"
    "    ValueError: shapes differ or are of no picture.\n\n"
    "Source: Wang, Simoncelli, Bovik: Multiscale structural similarity for image quality assessment (2003).";

}  // namespace halfbyte::bind

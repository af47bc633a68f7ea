"""
The native core of halfbyte: JPEG structure, transcoding, decoding, resampling; kernels on tensors.
"""

from collections.abc import Mapping, Sequence

import numpy
import numpy.typing
from typing_extensions import Buffer


class Limits:
    """
    Caps on what an image may ask for; checked before memory is allocated for it.

    Args:
        max_pixels: width times height.
        max_components: colour components.
        max_scans: scans of a progressive image; long lists are a cheap way to burn hours.
        max_coefficient_bytes: two bytes a coefficient. Transcoding holds up to two and a half times that.
    """

    def __init__(self, *, max_pixels: int = 268435456, max_components: int = 4, max_scans: int = 256, max_coefficient_bytes: int = 2147483648) -> None: ...

    @property
    def max_pixels(self) -> int: ...

    @property
    def max_components(self) -> int: ...

    @property
    def max_scans(self) -> int: ...

    @property
    def max_coefficient_bytes(self) -> int: ...

    def __eq__(self, other: object, /) -> bool: ...

    def __hash__(self) -> int: ...

    def __getstate__(self) -> tuple[int, int, int, int]: ...

    def __setstate__(self, arg: tuple[int, int, int, int], /) -> None: ...

    def __repr__(self) -> str: ...

class JpegComponent:
    """A colour component of a frame."""

    @property
    def id(self) -> int: ...

    @property
    def h(self) -> int:
        """Horizontal sampling factor, 1 to 4."""

    @property
    def v(self) -> int:
        """Vertical sampling factor, 1 to 4."""

    @property
    def table(self) -> int:
        """Slot of its quantization table."""

    def __repr__(self) -> str: ...

class JpegScan:
    """A scan and its range of bytes; consecutive ranges tile the file."""

    @property
    def components(self) -> list[int]:
        """Indices into the components of the frame."""

    @property
    def ss(self) -> int: ...

    @property
    def se(self) -> int: ...

    @property
    def ah(self) -> int: ...

    @property
    def al(self) -> int: ...

    @property
    def begin(self) -> int:
        """Offset in bytes; tables in front of the scan belong to it."""

    @property
    def end(self) -> int:
        """Offset in bytes of the marker after its entropy-coded data."""

    def __repr__(self) -> str: ...

class JpegInfo:
    """What the markers of a JPEG say."""

    @property
    def width(self) -> int:
        """Pixels, as coded: the orientation is not applied."""

    @property
    def height(self) -> int:
        """Pixels, as coded."""

    @property
    def precision(self) -> int:
        """Bits a sample."""

    @property
    def sof(self) -> int:
        """
        0 baseline, 1 extended, 2 progressive, 3 lossless; 9 to 11: the same with arithmetic coding.
        """

    @property
    def restart_interval(self) -> int:
        """Interleaved units; 0: none."""

    @property
    def components(self) -> list[JpegComponent]: ...

    @property
    def scans(self) -> list[JpegScan]: ...

    @property
    def jfif(self) -> bool: ...

    @property
    def adobe_transform(self) -> int | None:
        """0 none, 1 YCbCr, 2 YCCK; None without an Adobe marker."""

    @property
    def orientation(self) -> int:
        """EXIF, 1 to 8; 1 where it is missing or senseless."""

    @property
    def has_exif(self) -> bool: ...

    @property
    def has_icc(self) -> bool: ...

    @property
    def has_xmp(self) -> bool: ...

    @property
    def has_comment(self) -> bool: ...

    @property
    def end_of_image(self) -> int:
        """Offset in bytes just after the end-of-image marker."""

    @property
    def trailing(self) -> int:
        """Bytes after the end of the image."""

    def __repr__(self) -> str: ...

class ScanScript:
    """
    The scans of a progressive JPEG, grouped into levels; checked against T.81, G.1.1.1.

    Args:
        levels: for each colour model (gray, ycc, rgb, cmyk, ycck) its levels; each is a list of scans
            (components, Ss, Se, Ah, Al). A level may be empty; all models have the same number of them.

    Raises:
        ScanScriptError: a scan breaks a rule (the message names it), a coefficient is never completed, or the first
            level lacks a component.
    """

    def __init__(self, levels: Mapping[str, Sequence[Sequence[tuple[Sequence[int], int, int, int, int]]]]) -> None: ...

    @property
    def num_levels(self) -> int: ...

    def levels(self, model: str) -> list[list[tuple[list[int], int, int, int, int]]]:
        """The levels of a colour model. Raises KeyError if there are none."""

    def __repr__(self) -> str: ...

def libjpeg_version() -> str:
    """The libjpeg-turbo that this module was built with, for provenance."""

def inspect_jpeg(data: Buffer, limits: Limits = ...) -> JpegInfo:
    """
    Walks the segments of a JPEG (ITU-T T.81, Annex B) without decoding it.

    Args:
        data: the file, or its beginning.
        limits: caps, checked at the frame header.

    Raises:
        NeedMoreBytes: sound so far, but the end of the image is not there yet.
        CorruptImage: no JPEG, or a damaged one.
        UnsupportedImage: hierarchical, JPEG-LS, or a height that is told after the first scan.
        LimitExceeded: the header asks for more than a limit allows.
    """

class Transcoded:
    """A JPEG cut into the levels of a progressive one."""

    @property
    def width(self) -> int:
        """Pixels, as coded: the orientation is not applied."""

    @property
    def height(self) -> int:
        """Pixels, as coded."""

    @property
    def orientation(self) -> int:
        """EXIF, 1 to 8."""

    @property
    def levels(self, /) -> list[bytes]:
        """
        Levels 1..k and FF D9, joined, are a JPEG for every k >= 1. A level may be empty.
        """

    @property
    def metadata(self) -> bytes:
        """
        The APPn and COM segments of the source; empty where the levels carry the very same.
        """

    @property
    def trailing(self) -> bytes:
        """What followed the end-of-image marker of the source."""

    def __repr__(self) -> str: ...

def transcode(data: Buffer, script: ScanScript, limits: Limits = ...) -> Transcoded:
    """
    Makes the levels of a progressive JPEG out of any JPEG, without changing a coefficient.

    The result is read back by libjpeg and compared: every coefficient, quantization table and sampling factor.

    Args:
        data: a whole JPEG file; what follows its end-of-image marker is kept apart.
        script: its scans.
        limits: caps on the source.

    Raises:
        CorruptImage: the source is damaged (whatever libjpeg only warns of counts), or the proof failed.
        UnsupportedImage: it cannot be progressive; the text before a colon is a short reason, fit for counting.
        LimitExceeded: its header asks for more than a limit allows.
    """

def restore_metadata(jpeg: Buffer, metadata: Buffer, trailing: Buffer) -> bytes:
    """
    Puts the metadata and the trailing bytes of the source back around its image.

    Args:
        jpeg: the joined levels, with or without an end-of-image marker.
        metadata: as in Transcoded; it replaces the APPn and COM segments of `jpeg`, unless it is empty.
        trailing: as in Transcoded.

    Raises:
        CorruptImage: `jpeg` is no JPEG, or `metadata` is not made of whole segments.
    """

class Pool:
    """
    Threads that decode, shared by any number of callers.

    The calling thread works too: a pool of one starts no thread. Threads start with the first batch, and again in
    a child of fork; signals stay with Python.

    Args:
        num_threads: 1 to 1024.

    Raises:
        ValueError: another number.
    """

    def __init__(self, num_threads: int) -> None: ...

    @property
    def num_threads(self) -> int:
        """Threads that decode at the same time, the calling one included."""

    def __repr__(self) -> str: ...

def decode(pool: Pool, buffers: Sequence[Buffer], slices: numpy.typing.NDArray[numpy.int64], starts: numpy.typing.NDArray[numpy.int64], boxes: numpy.typing.NDArray[numpy.float64], clip: bool, orientation: numpy.typing.NDArray[numpy.uint8], flip: numpy.typing.NDArray[numpy.bool_] | numpy.typing.NDArray[numpy.uint8], sizes: numpy.typing.NDArray[numpy.int64], out: numpy.typing.NDArray[numpy.uint8] | numpy.typing.NDArray[numpy.float32], lut: numpy.typing.NDArray[numpy.float32] | None, limits: Limits = ..., *, min_scale_ratio: float = ...) -> list[tuple[int, str, str]]:
    """
    Decodes a batch of JPEG prefixes into caller's memory: crop, orientation, resampling, mirroring and
    normalization in one go, without the lock.

    Resampling is antialiased bilinear, equal to Pillow's bit for bit where no DCT scaling takes part (horizontal
    pass first, as Pillow before version 13 always has it). Grey is the Y plane, or BT.601 luma of RGB and CMYK.
    A prefix that holds only DC coefficients is decoded at 1/8 and interpolated.

    Args:
        pool: does the work.
        buffers: objects with the buffer protocol, read in place.
        slices: (S, 3) int64: buffer, offset and length in bytes; a sample's levels in order, without end-of-image.
        starts: (n + 1,) int64: sample i is made of slices[starts[i]:starts[i + 1]].
        boxes: (n, 4) float64: x, y, width, height in pixels of the upright picture.
        clip: filter only pixels of the box (crop, then resize); else of the whole picture (resize, then crop).
        orientation: (n,) uint8, EXIF 1 to 8.
        flip: (n,) bool: mirror left to right at the end.
        sizes: (n, 2) int64: width and height that each header must have, in pixels as stored.
        out: (n, C, H, W) uint8 or float32, any strides; C is 1 or 3.
        lut: (C, 256) float32, the value of each pixel value, for a float32 out; None for uint8.
        limits: caps on what a header may ask for.
        min_scale_ratio: use the smallest DCT scale that leaves this many pixels of the box for each output pixel
            in both directions (1 or more; departs from Pillow); 0, the default, or infinity: decode at full size.

    Returns:
        What failed: index in the batch, name of the class in halfbyte.errors (or MemoryError), message. The output
        of those samples is zero.

    Raises:
        ValueError: an argument has the wrong shape, type or range; nothing was decoded.
    """

def resample(pixels: numpy.typing.NDArray[numpy.uint8], box: tuple[float, float, float, float], clip: bool, orientation: int, flip: bool, out: numpy.typing.NDArray[numpy.uint8] | numpy.typing.NDArray[numpy.float32], lut: numpy.typing.NDArray[numpy.float32] | None = None) -> None:
    """
    Resamples a picture that was decoded elsewhere, as decode does.

    Args:
        pixels: (height, width, 1 or 3) or (height, width) uint8 as stored; rows contiguous.
        box: x, y, width, height in pixels of the upright picture.
        clip: filter only pixels of the box; else of the whole picture.
        orientation: EXIF, 1 to 8.
        flip: mirror left to right at the end.
        out: (C, H, W) uint8 or float32, any strides; C is 1 (BT.601 luma) or 3 (RGB).
        lut: (C, 256) float32 for a float32 out; None for uint8.

    Raises:
        ValueError: an argument has the wrong shape, type or range.
    """

def ms_ssim(a: numpy.typing.NDArray[numpy.uint8], b: numpy.typing.NDArray[numpy.uint8]) -> float:
    """
    Multi-scale structural similarity of two pictures, on BT.601 luma.

    Pictures too small for five scales use as many as fit, with the weights of those; below 11 pixels a single
    window covers all.

    Args:
        a: (height, width, 1 or 3) or (height, width) uint8.
        b: the same shape.

    Returns:
        In [0, 1]; exactly 1 for equal pictures.

    Raises:
        ValueError: shapes differ or are of no picture.

    Source: Wang, Simoncelli, Bovik: Multiscale structural similarity for image quality assessment (2003).
    """

def instruction_sets() -> list[str]:
    """The instruction sets that kernels can use here, plainest first."""

def instruction_set() -> str:
    """The instruction set in use."""

def set_instruction_set(name: str) -> None:
    """
    Use another instruction set, for tests and benchmarks. Results are the same, bit for bit.
    """

def set_openmp(entry: int) -> None:
    """
    Run kernels on the threads of this OpenMP runtime: the address of its GOMP_parallel.
    """

def advise_huge_pages(start: int, bytes: int) -> None:
    """Ask for huge pages where a block of memory has room for them: a hint."""

def pack_positive(x: int, element: int, count: int, bits: int, num_threads: int) -> bool:
    """bits[i] = x[i] > 0 or NaN. Returns whether any is NaN."""

def pack_nonzero(x: int, width: int, count: int, bits: int, num_threads: int) -> None:
    """bits[i] = any bit of x[i] is set; elements of `width` bytes."""

def unpack_bits(bits: int, bytes: int, count: int, pattern: int, width: int, out: int, num_threads: int) -> None:
    """out[i] = bits[i] ? pattern : 0."""

def apply_mask(bits: int, bytes: int, count: int, width: int, x: int, num_threads: int) -> None:
    """x[i] = bits[i] ? x[i] : 0."""

def pack_two_values(x: int, width: int, count: int, bits: int, num_threads: int) -> int | None:
    """
    The bits of the one value that is not 0, or None when there are more; bits[i] = x[i] is not 0.
    """

def integer_range(x: int, type: int, count: int, num_threads: int) -> tuple[int, int]:
    """
    The least and the greatest element; types are 0 uint8, 1 int16, 2 int32, 3 int64.
    """

def convert_integers(x: int, from_type: int, count: int, out: int, to_type: int, num_threads: int) -> None:
    """out[i] = x[i]."""

def encode_pool_indices(x: int, count: int, windows: int, repeat: int, bases: int, places: int, codes: int, num_threads: int) -> bool:
    """
    x[i] = bases[i / repeat % windows] + places[codes[i]]; False where there are more than 16 places.
    """

def decode_pool_indices(bases: int, places: int, codes: int, count: int, windows: int, repeat: int, x: int, num_threads: int) -> None:
    """x[i] = bases[i / repeat % windows] + places[codes[i]]."""

def scan_zeros(x: int, element: int, count: int, bits: int, num_threads: int) -> tuple[int, bool]:
    """
    bits[i] = any bit of x[i] is set; how many are, and whether some element is negative, -0 or NaN.
    """

def compact(x: int, element: int, count: int, bits: int, values: int, value_type: int, num_threads: int) -> bool:
    """
    The elements whose bit is set, in the type of the values; whether all that were finite still are.
    """

def expand(bits: int, bytes: int, count: int, values: int, value_type: int, num_values: int, out: int, element: int, num_threads: int) -> None:
    """Values where bits are set, zeros elsewhere."""

def channel_ranges(x: int, element: int, outer: int, channels: int, inner: int, max_abs: int, num_threads: int) -> bool:
    """
    max_abs[c] = max |x| over channel c of an (outer, channels, inner) array, infinity when it is not finite. Returns whether all are >= 0.
    """

def sfpr_encode(x: int, element: int, outer: int, channels: int, inner: int, bits: int, levels: float, num_threads: int, scales: int, is_unsigned: int, codes: int) -> bool:
    """
    Fixed-point codes of 8 or 4 bits, and the scale of each channel. Returns whether all channels are finite.
    """

def sfpr_decode(x: int, element: int, outer: int, channels: int, inner: int, bits: int, num_threads: int, scales: int, is_unsigned: int, codes: int) -> None:
    """x = code * scale."""

def sfpr_zvc_encode(x: int, element: int, outer: int, channels: int, inner: int, levels: float, num_threads: int, scales: int, is_unsigned: int, mask: int, counts: int) -> tuple[bool, int]:
    """
    8-bit codes of the elements that are not 0, to be fetched with sfpr_zvc_gather by the same thread. Returns whether all channels are finite, and the number of codes.
    """

def sfpr_zvc_gather(runs: int, num_threads: int, counts: int, codes: int) -> None:
    """The codes that sfpr_zvc_encode found."""

def sfpr_zvc_decode(x: int, element: int, outer: int, channels: int, inner: int, num_codes: int, num_threads: int, scales: int, is_unsigned: int, mask: int, counts: int, codes: int) -> bool:
    """
    x = code * scale, and 0 where there is none. Returns whether mask and counts fit the codes.
    """

def jpeg_act_scales(x: int, element: int, shape: Sequence[int], num_threads: int, scales: int, inverse: int) -> bool:
    """Fixed point for each channel; returns whether all are finite."""

def jpeg_act_estimate(x: int, element: int, shape: Sequence[int], table: Sequence[int], nearest: bool, rle: bool, inverse: int) -> tuple[int, int, int]:
    """
    Elements and non-zero elements of a sample of tiles, and bytes of their codes or of their stream.
    """

def jpeg_act_encode(x: int, element: int, shape: Sequence[int], table: Sequence[int], nearest: bool, num_threads: int, inverse: int, masks: int, counts: int) -> int:
    """Codes tiles into this thread's workspace; returns the number of codes."""

def jpeg_act_gather(shape: Sequence[int], num_threads: int, counts: int, codes: int) -> None:
    """The codes from the workspace."""

def jpeg_act_decode(x: int, element: int, shape: Sequence[int], table: Sequence[int], num_codes: int, num_threads: int, scales: int, masks: int, counts: int, codes: int) -> bool:
    """False when masks, counts and codes do not fit each other."""

def jpeg_act_rle_measure(shape: Sequence[int], num_threads: int, masks: int, counts: int, codes: int, lengths: int, byte_counts: int) -> int:
    """Chooses a Huffman code; returns the number of bytes."""

def jpeg_act_rle_write(shape: Sequence[int], num_threads: int, masks: int, counts: int, codes: int, lengths: int, byte_counts: int, bytes: int) -> None:
    """Writes as many bytes as were measured."""

def jpeg_act_rle_read(shape: Sequence[int], num_codes: int, num_bytes: int, num_threads: int, masks: int, counts: int, codes: int, lengths: int, byte_counts: int, bytes: int) -> bool:
    """Masks and codes; false when the bytes are none of theirs."""

def encode_groups(x: int, element: int, count: int, bits: int, group: int, stochastic: bool, key: int, codes: int, least: int, steps: int, num_threads: int) -> int:
    """
    Quantize groups of elements; returns how many have to be kept elsewhere (their steps are NaN).
    """

def decode_groups(codes: int, codes_size: int, least: int, least_size: int, steps: int, steps_size: int, element: int, count: int, bits: int, group: int, x: int, num_threads: int) -> int:
    """
    The inverse; returns how many groups are kept elsewhere. Raises ValueError for parts of wrong sizes.
    """

def error_bounded_lags(x: int, count: int, element: int, coder: int, grid: Sequence[float], lags: Sequence[int], fewest: int) -> int:
    """
    How many of these lags to predict from, at least so many. Coder 0 is huffman, 1 fixed; the grid is bound, step, inverse of the step, and shift.
    """

def error_bounded_encode(x: int, count: int, element: int, coder: int, grid: Sequence[float], lags: Sequence[int], num_threads: int, sizes: int) -> tuple[int, int]:
    """
    Codes pieces, to be fetched with error_bounded_gather by the same thread. Returns the bytes of all, and the number of outliers.
    """

def error_bounded_gather(bytes: int, num_threads: int) -> None:
    """The bytes that error_bounded_encode made."""

def error_bounded_decode(x: int, count: int, element: int, coder: int, grid: Sequence[float], lags: Sequence[int], num_threads: int, sizes: int, bytes: int, num_bytes: int) -> bool:
    """The elements. Returns whether the bytes are sound."""

def code_blocks_measure(codes: int, count: int, has_signs: bool, widths: int, counts: int, num_threads: int) -> tuple[int, int]:
    """
    The bytes of masks and of packed codes. Fills in the widths, unless 0 is given, and the counts, int64 (pieces of 65,536 codes, 10).
    """

def code_blocks_write(codes: int, count: int, has_signs: bool, counts: int, masks: int, packed: int, num_threads: int) -> None:
    """
    Masks and packed codes, the latter into zeros, by the counts of code_blocks_measure.
    """

def code_blocks_check(widths: int, masks: int, mask_bytes: int, code_bytes: int, count: int, counts: int, num_threads: int) -> int:
    """
    Fills in the counts. Returns 0, or what is damaged: 1 a width, 2 the bytes of masks, 3 masks that do not fit widths, 4 the bytes of codes.
    """

def code_blocks_read(widths: int, masks: int, packed: int, counts: int, count: int, has_signs: bool, codes: int, num_threads: int) -> None:
    """The codes, by the counts of code_blocks_check, which found no damage."""

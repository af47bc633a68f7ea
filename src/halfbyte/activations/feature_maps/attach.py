"""The function that users call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from torch import nn

from halfbyte.activations.codecs.base import Codec
from halfbyte.activations.codecs.channel_dct import ChannelDct
from halfbyte.activations.codecs.error_bounded import ErrorBounded
from halfbyte.activations.codecs.jpeg_act import JpegAct
from halfbyte.activations.codecs.near_zero import NearZero
from halfbyte.activations.codecs.sfpr import Sfpr
from halfbyte.activations.feature_maps.calibration import choose_codecs
from halfbyte.activations.feature_maps.layers import ACTIVATIONS_AND_POOLS, Layers, find_layers
from halfbyte.activations.feature_maps.maps import FeatureMaps
from halfbyte.activations.feature_maps.trial import Trial, at_rest

__all__ = ["CANDIDATES", "feature_maps"]

CANDIDATES: tuple[Codec, ...] = (
    *(NearZero(bits=bits) for bits in (3, 4, 5, 6, 7, 8)),
    *(NearZero(2.0**-bits, bits) for bits in (4, 5, 6)),
    *(ChannelDct(bits=bits) for bits in (5, 6, 7, 8)),
    *(ErrorBounded(2.0**-bits, relative=True) for bits in (4, 5, 6, 7)),
    *(JpegAct(table, "divide", "nearest", "rle") for table in ("optL", "optH")),
)
"""What calibration chooses from, unless it is told."""

_EIGHT_BITS = Sfpr(headroom=1)
"""Nothing is clipped: what every map can fall back to."""


def feature_maps(
    model: nn.Module,
    codec: Codec | Sequence[Codec] | Mapping[str, Codec | None] = CANDIDATES,
    *,
    calibrate: Iterable[Any] | None = None,
    layers: Layers | None = None,
    tolerance: float = 0.01,
    evaluate: Callable[[nn.Module], float] | None = None,
    batches: int = 2,
) -> FeatureMaps:
    """Compress the maps that go from layer to layer, and restore them before the next layer reads them: what
    the memory of an accelerator would hold, at inference or in training.

        maps = halfbyte.activations.feature_maps(model, calibrate=loader, tolerance=0.01)
        print(maps.compare(accuracy))
        print(maps.report())
        maps.remove()

    Outputs of modules are seen, by hooks: those of activation functions and pooling, unless `layers` says
    otherwise. What a `forward` computes by functions (torch.relu, sums) belongs to no module: name the
    module that returns it. Gradients pass as if maps had not been changed.

    Args:
        model: any that is not compiled. It is changed until `remove()`, or the end of a `with` block.
        codec: for all maps; or one for each module, by name, None for as it is (such as `maps.codecs` of an
            earlier calibration: other maps then stay as they are); or several to choose from.
        calibrate: batches to choose by: inputs, tuples that begin with the input (a DataLoader of images and
            labels), or dicts of keyword arguments. Take some that were not trained on: there the output is
            less sure, and errors weigh more. 8 bits (`Sfpr(headroom=1)`) are always among the choices.
        layers: names of modules and types of them.
        tolerance: the most that calibration may change the output, as Σ (y' - y)² / Σ y²; or with `evaluate`,
            the most that it may lose.
        evaluate: a number for the model, the higher the better, called about a dozen times.
        batches: so many of `calibrate` are used.

    Returns:
        A handle, which counts bytes and errors from now on.

    Raises:
        TypeError: an argument is none of these; in the forward pass: a module returns no tensor, or not one
            of float32, bfloat16 or float16.
        ValueError: a name is not in the model, or it is compiled; several codecs without `calibrate`; nothing
            to calibrate with; even 8 bits do more than the tolerance.
    """
    if isinstance(codec, Mapping):
        if layers is not None or calibrate is not None:
            raise ValueError(
                "feature_maps: codecs by name say which layers, and need no calibration: leave both out"
            )
        modules = find_layers(model, {name.partition("#")[0] for name in codec})
        return FeatureMaps(model, modules, codec)
    modules = find_layers(model, ACTIVATIONS_AND_POOLS if layers is None else layers)
    if calibrate is not None:
        candidates = [codec] if isinstance(codec, Codec) else list(codec)
        inputs = [_input_of(batch) for batch in islice(calibrate, batches)]
        with at_rest(model):
            trial = Trial(model, modules, inputs)
            chosen = choose_codecs(trial, [*candidates, _EIGHT_BITS], tolerance=tolerance, evaluate=evaluate)
        return FeatureMaps(model, modules, chosen)
    if not isinstance(codec, Codec):
        raise ValueError(
            "feature_maps: several codecs to choose from: give batches to choose by, calibrate=loader"
        )
    return FeatureMaps(model, modules, codec)


def _input_of(batch: Any) -> Any:
    return batch[0] if isinstance(batch, (tuple, list)) else batch

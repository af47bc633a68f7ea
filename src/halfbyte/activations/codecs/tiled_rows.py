"""All maps as one image, as JPEG-ACT tiles them: (N·C·H, W), padded with zeros at the top and left."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from halfbyte.activations.codecs.coded_tiles import check_part
from halfbyte.activations.codecs.maps import TILE, MapShape
from halfbyte.activations.codecs.reference.dct import round_to_integers

__all__ = ["image_of", "image_shape", "maps_of_image"]


def image_shape(shape: MapShape) -> MapShape:
    """Of the image of maps that lie plane by plane."""
    lines = shape.planes * shape.height
    return MapShape(1, -(-lines // TILE) * TILE, shape.columns * TILE, 1, 1)


def image_of(flat: Tensor, shape: MapShape, inverse: Tensor) -> tuple[Tensor, MapShape, Tensor]:
    """The image in fixed point, float32, flat; its shape; the inverse scale of its one channel, which is 1.

    Args:
        flat: elements, plane by plane.
        shape: of the maps.
        inverse: float32 (channels,), 0 where nothing is to be coded.
    """
    image = image_shape(shape)
    factor = inverse.repeat(shape.planes // shape.channels).view(-1, 1, 1)
    codes = round_to_integers((flat.view(shape[:3]).float() * factor).clamp(-128, 127))
    lines = torch.where(factor == 0, 0.0, codes).view(-1, shape.width)
    padding = (image.width - shape.width, 0, image.height - lines.shape[0], 0)
    return functional.pad(lines, padding).view(-1), image, inverse.new_ones(1)


def maps_of_image(image: Tensor, shape: MapShape, scale: Tensor, dtype: torch.dtype) -> Tensor:
    """The reverse: elements, flat, of fixed-point codes in the image.

    Raises:
        ValueError: there is not one scale for each channel.
    """
    check_part(scale, "scales", torch.float32, shape.channels)
    padded = image_shape(shape)
    lines = image.view(padded[1:3])[-shape.planes * shape.height :, -shape.width :]
    codes = lines.reshape(shape.planes, -1)
    factor = scale.repeat(shape.planes // shape.channels).view(-1, 1)
    return (codes * factor).to(dtype).view(-1)

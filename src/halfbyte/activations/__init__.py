"""Compressed activations: what autograd saves for backward is held in fewer bytes until backward reads it.

from halfbyte.activations import compress, jpeg_act

compressor = compress(model, policy=jpeg_act())
for images, labels in loader:
    with compressor as ledger:
        loss = criterion(model(images), labels)
        loss.backward()
    optimizer.step()
print(ledger.report())
"""

from __future__ import annotations

from halfbyte.activations.codecs.base import Codec, Packed
from halfbyte.activations.codecs.cast import Cast
from halfbyte.activations.codecs.channel_dct import ChannelDct
from halfbyte.activations.codecs.error_bounded import ErrorBounded
from halfbyte.activations.codecs.exact import Exact
from halfbyte.activations.codecs.group_quantized import GroupQuantized
from halfbyte.activations.codecs.indices import Indices
from halfbyte.activations.codecs.jpeg_act import JpegAct
from halfbyte.activations.codecs.masks import Bits, ReluMask
from halfbyte.activations.codecs.near_zero import NearZero
from halfbyte.activations.codecs.pool_indices import PoolIndices
from halfbyte.activations.codecs.sfpr import Sfpr
from halfbyte.activations.codecs.shape import ShapeOnly
from halfbyte.activations.codecs.two_values import TwoValues
from halfbyte.activations.codecs.zero_value import ZeroValue
from halfbyte.activations.engine.compress import compress
from halfbyte.activations.engine.ledger import Ledger
from halfbyte.activations.engine.preview import Preview, preview
from halfbyte.activations.feature_maps.attach import feature_maps
from halfbyte.activations.feature_maps.boundary import Boundary, compress_boundary
from halfbyte.activations.feature_maps.maps import Comparison, FeatureMaps
from halfbyte.activations.policy.ac_gc import ac_gc
from halfbyte.activations.policy.budget import budget
from halfbyte.activations.policy.comet import comet
from halfbyte.activations.policy.error_control import Bound
from halfbyte.activations.policy.gist import gist
from halfbyte.activations.policy.group_quantized import group_quantized
from halfbyte.activations.policy.jpeg_act import jpeg_act
from halfbyte.activations.policy.lossless import lossless
from halfbyte.activations.policy.needs import Need, register_need
from halfbyte.activations.policy.saved_tensor import Plan, Policy, SavedTensor, Saver
from halfbyte.activations.policy.sfpr import sfpr

__all__ = [
    "Bits",
    "Bound",
    "Boundary",
    "Cast",
    "ChannelDct",
    "Codec",
    "Comparison",
    "ErrorBounded",
    "Exact",
    "FeatureMaps",
    "GroupQuantized",
    "Indices",
    "JpegAct",
    "Ledger",
    "NearZero",
    "Need",
    "Packed",
    "Plan",
    "Policy",
    "PoolIndices",
    "Preview",
    "ReluMask",
    "SavedTensor",
    "Saver",
    "Sfpr",
    "ShapeOnly",
    "TwoValues",
    "ZeroValue",
    "ac_gc",
    "budget",
    "comet",
    "compress",
    "compress_boundary",
    "feature_maps",
    "gist",
    "group_quantized",
    "jpeg_act",
    "lossless",
    "preview",
    "register_need",
    "sfpr",
]

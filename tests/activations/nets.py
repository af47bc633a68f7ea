"""Small models of the kinds that people train, for tests of what autograd saves of them."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Residual(nn.Module):
    """The basic block of a ResNet."""

    def __init__(self, inputs: int, outputs: int, stride: int = 1, *, inplace: bool = True) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.down: nn.Module = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.down = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            )

    def forward(self, x: Tensor) -> Tensor:
        y = self.relu(self.bn1(self.conv1(x)))
        return self.relu(self.bn2(self.conv2(y)) + self.down(x))


class ResNet(nn.Module):
    """For (N, 3, H, W)."""

    def __init__(self, width: int = 8, *, inplace: bool = True, classes: int = 4) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, width, 3, 1, 1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace),
            nn.MaxPool2d(3, 2, 1),
        )
        self.blocks = nn.Sequential(
            Residual(width, width, inplace=inplace), Residual(width, 2 * width, 2, inplace=inplace)
        )
        self.head = nn.Linear(2 * width, classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(F.adaptive_avg_pool2d(self.blocks(self.stem(x)), 1).flatten(1))


class ViT(nn.Module):
    """For (N, 3, 32, 32): patches, two blocks with dropout, mean pooling."""

    def __init__(self, width: int = 32, *, dropout: float = 0.1, classes: int = 4) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, 4, 4)
        self.blocks = nn.ModuleList(_Attention(width, dropout) for _ in range(2))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = self.patches(x).flatten(2).transpose(1, 2)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x).mean(1))


class _Attention(nn.Module):
    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 2 * width), nn.GELU(), nn.Dropout(dropout), nn.Linear(2 * width, width)
        )
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        batch, tokens, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, tokens, 3, 4, width // 4).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(batch, tokens, width)
        x = x + self.dropout(self.out(y))
        return x + self.dropout(self.mlp(self.norm2(x)))


class UNet(nn.Module):
    """For (N, 3, H, W) to (N, classes, H, W): one level down, GroupNorm and SiLU, a skip connection."""

    def __init__(self, width: int = 8, classes: int = 4) -> None:
        super().__init__()
        self.before = nn.Sequential(nn.Conv2d(3, width, 3, 1, 1), nn.GroupNorm(2, width), nn.SiLU())
        self.below = nn.Sequential(
            nn.MaxPool2d(2), nn.Conv2d(width, 2 * width, 3, 1, 1), nn.BatchNorm2d(2 * width), nn.ReLU()
        )
        self.after = nn.Sequential(
            nn.Conv2d(3 * width, width, 3, 1, 1), nn.LeakyReLU(0.1), nn.Conv2d(width, classes, 1)
        )

    def forward(self, x: Tensor) -> Tensor:
        skip = self.before(x)
        up = F.interpolate(self.below(skip), scale_factor=2, mode="nearest")
        return self.after(torch.cat([skip, up], 1))


class Recurrent(nn.Module):
    """For (N, T, 12): an LSTM and its last state."""

    def __init__(self, classes: int = 4) -> None:
        super().__init__()
        self.lstm = nn.LSTM(12, 24, batch_first=True)
        self.head = nn.Linear(24, classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.lstm(x)[0][:, -1])


class Encoder(nn.Module):
    """For (N, T, 32): PyTorch's own Transformer encoder."""

    def __init__(self, classes: int = 4) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.1, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(32, classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.layers(x).mean(1))

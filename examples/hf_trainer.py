"""The Trainer of Hugging Face Transformers: one callback, and a vision transformer in 8 bits an activation.

python examples/hf_trainer.py --steps 30
python examples/hf_trainer.py --photos my_photos/     # a folder for each class
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import torch
from transformers import Trainer, TrainingArguments, ViTConfig, ViTForImageClassification

from halfbyte.activations import sfpr
from halfbyte.activations.integrations.transformers import CompressActivations
from photos import load_photos


def collate(samples: list[tuple[torch.Tensor, torch.Tensor]]) -> dict[str, torch.Tensor]:
    images, labels = zip(*samples, strict=True)
    return {"pixel_values": torch.stack(images), "labels": torch.stack(labels)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--photos", type=Path, help="a folder for each class")
    options = parser.parse_args()

    data, num_classes = load_photos(options.photos)
    config = ViTConfig(
        image_size=64,
        patch_size=8,
        hidden_size=96,
        num_hidden_layers=4,
        num_attention_heads=4,
        intermediate_size=192,
        num_labels=num_classes,
    )
    compression = CompressActivations(policy=sfpr())
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            folder,
            max_steps=options.steps,
            per_device_train_batch_size=16,
            gradient_accumulation_steps=2,
            learning_rate=1e-3,
            logging_steps=10,
            save_strategy="no",
            report_to=[],
            use_cpu=True,
        )
        Trainer(
            ViTForImageClassification(config),
            arguments,
            train_dataset=data,
            data_collator=collate,
            callbacks=[compression],
        ).train()
    print(compression.ledger.report())


if __name__ == "__main__":
    main()

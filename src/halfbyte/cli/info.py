"""``halfbyte info``: what a data set is, without reading a sample."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from halfbyte.cli.options import DatasetPath, Debug, Json
from halfbyte.cli.screen import print_fields, print_json, print_table, print_text
from halfbyte.cli.sizes import format_bytes, format_count, format_share

if TYPE_CHECKING:
    from halfbyte.format.manifest import Manifest

__all__ = ["fidelity_rows", "info"]

_FIRST_CLASSES = 6
_COLUMNS = (
    ("fidelity", "right"),
    ("level", "left"),
    ("adds", "right"),
    ("reads", "right"),
    ("of source", "right"),
    ("MS-SSIM", "right"),
    ("p10", "right"),
)


def info(path: DatasetPath, *, json: Json = False, debug: Debug = False) -> None:
    """Show what a data set holds: samples, classes, fields, and what each fidelity costs and gives.

    Reads dataset.json and the index only. "reads" is what one pass over all samples reads at that fidelity.
    MS-SSIM (mean, and the value that nine in ten exceed) is measured against full fidelity on some images.
    """
    from halfbyte.records.record_set import open_records
    from halfbyte.storage.local import LocalStore

    manifest = open_records(LocalStore(path)).manifest
    document = _document(path, manifest)
    if json:
        print_json(document)
        return
    print_text(f"{path}: a halfbyte data set", style="bold")
    print_fields(_summary(manifest))
    print_text()
    print_table(_COLUMNS, fidelity_rows(document["fidelities"]))


def _document(path: Path, manifest: Manifest) -> dict[str, Any]:
    quality = manifest.quality
    return {
        "path": str(path),
        "id": manifest.dataset_id.hex(),
        "num_samples": manifest.num_samples,
        "num_records": manifest.num_records,
        "classes": manifest.classes,
        "fields": {field.name: field.type for field in manifest.fields},
        "codecs": manifest.codecs,
        "source_bytes": manifest.source_bytes,
        "extras_bytes": manifest.extras_bytes,
        "fidelities": [
            {
                "fidelity": k,
                "level": level.name,
                "level_bytes": level.bytes,
                "bytes": manifest.bytes_at(k),
                "share": manifest.bytes_at(k) / manifest.source_bytes if manifest.source_bytes else None,
                "ms_ssim": quality.mean[k - 1] if quality else None,
                "ms_ssim_p10": quality.p10[k - 1] if quality else None,
            }
            for k, level in enumerate(manifest.levels, start=1)
        ],
        "quality_samples": quality.samples if quality else 0,
        "scan_script": manifest.scan_script,
        "provenance": manifest.provenance,
    }


def _summary(manifest: Manifest) -> dict[str, str]:
    fields = {
        "samples": f"{manifest.num_samples:,} in {format_count(manifest.num_records, 'record')}",
        "classes": _classes(manifest.classes),
        "fields": ", ".join(f"{field.name} ({field.type})" for field in manifest.fields) or "none",
        "codecs": ", ".join(f"{name} {count:,}" for name, count in manifest.codecs.items()),
        "source": format_bytes(manifest.source_bytes),
        "extras": f"{format_bytes(manifest.extras_bytes)} of metadata, read by extract alone",
        "scan script": str(manifest.scan_script.get("name", "custom")),
        "id": manifest.dataset_id.hex(),
        "made by": f"halfbyte {manifest.provenance.get('halfbyte', '(unknown)')}",
    }
    settings = _settings(manifest.provenance)
    return fields | ({"settings": settings} if settings else {})


def _settings(provenance: dict[str, Any]) -> str:
    """What convert was told, in short; --json has all."""
    names = ("record_bytes", "seed", "keep_order", "encode_other", "keep_trailing")
    return ", ".join(
        f"{name.replace('_', ' ')} {provenance[name]}" for name in names if provenance.get(name) is not None
    )


def _classes(classes: tuple[str, ...] | None) -> str:
    if classes is None:
        return "none"
    more = f", … ({len(classes) - _FIRST_CLASSES:,} more)" if len(classes) > _FIRST_CLASSES else ""
    return f"{len(classes):,}: {', '.join(classes[:_FIRST_CLASSES])}{more}"


def fidelity_rows(fidelities: list[dict[str, Any]]) -> list[list[str]]:
    """Cells of the table, from the document's entries."""
    return [
        [
            str(entry["fidelity"]),
            entry["level"],
            format_bytes(entry["level_bytes"]),
            format_bytes(entry["bytes"]),
            "-" if entry["share"] is None else format_share(entry["share"], 1),
            "-" if entry["ms_ssim"] is None else f"{entry['ms_ssim']:.4f}",
            "-" if entry["ms_ssim_p10"] is None else f"{entry['ms_ssim_p10']:.4f}",
        ]
        for entry in fidelities
    ]

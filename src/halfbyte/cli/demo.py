"""``halfbyte demo``: convert, train at three fidelities through a slow link, then with less memory."""

from __future__ import annotations

import importlib.util
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from halfbyte.cli.demo_pictures import Pictures, cut_tiles, own_photos
from halfbyte.cli.demo_tables import print_fidelities, print_policies
from halfbyte.cli.options import Debug, Json, Quiet, check_seed, rate_option
from halfbyte.cli.progress import progress_bar
from halfbyte.cli.screen import print_json, print_lines, print_text
from halfbyte.cli.sizes import format_bytes, format_duration, format_rate, format_share
from halfbyte.errors import HalfbyteError, OutputExists

if TYPE_CHECKING:
    from halfbyte.conversion import ConvertReport

__all__ = ["demo"]

_RECORD_BYTES = 1 << 20  # small, so that reading and training overlap within a short epoch
_NEXT = """
Next, with photos of your own (a folder for each class):
  halfbyte demo --data PHOTOS/
  halfbyte convert PHOTOS/ photos.halfbyte/
and in the training script:
  view = halfbyte.Transform(halfbyte.RandomResizedCrop(224), flip=0.5)
  data = halfbyte.open("photos.halfbyte/", transform=view)
  compressor = halfbyte.activations.compress(model, policy=halfbyte.activations.jpeg_act())
  for batch in halfbyte.Loader(data, batch_size=64, fidelity={middle}):
      with compressor:
          loss = criterion(model(batch["image"]), batch["label"])
          loss.backward()
      optimizer.step()"""


def demo(
    *,
    data: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Your photos, a folder for each class, instead of tiles."),
    ] = None,
    keep: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep all files in this folder, new or empty.")
    ] = None,
    bandwidth: Annotated[
        int | None,
        typer.Option(
            metavar="RATE",
            parser=rate_option,
            help="Bytes a second of the link, such as 4MB/s; chosen if left out.",
        ),
    ] = None,
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the training images.")] = 5,
    tiles: Annotated[int, typer.Option(min=8, help="Training tiles of each photograph.")] = 96,
    seed: Annotated[
        int, typer.Option(min=0, callback=check_seed, help="Of tiles, weights, order and crops.")
    ] = 0,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Convert pictures, train a small network on them at three fidelities, then with compressed activations.

    Cuts labelled tiles from the photographs that come with scikit-image, converts them, and trains from
    scratch at fidelity 1, a middle one and full, through a slow link. Then trains again with what is saved
    for the backward pass as it is, and in fewer bytes. Every number is measured here and now, in some three
    minutes on two cores.
    """
    started = time.monotonic()
    _require("torch", *(() if data else ("skimage", "PIL")))
    say: Callable[[str], None] = (lambda _: None) if json else print_text
    with _work_folder(keep) as folder:
        pictures = own_photos(data) if data else cut_tiles(folder, tiles, seed)
        say(pictures.about)
        report = _convert(pictures, folder, quiet=quiet)
        say(_about_conversion(report))
        result = _train(folder, bandwidth, epochs, seed, quiet=quiet, say=say)
        if not json:
            print_fidelities(result)
        result |= _train_packed(folder, epochs, seed, quiet=quiet, say=say)
    result |= {"pictures": pictures.about, "seconds": time.monotonic() - started}
    if json:
        print_json(result)
        return
    print_policies(result)
    print_text(f"The demo took {format_duration(result['seconds'])}.")
    if keep:
        print_text(f"\nThe data sets are in {keep}.")
    print_lines(_NEXT.format(middle=result["trials"][1]["fidelity"]).split("\n"))


def _require(*modules: str) -> None:
    """Before any work is done."""
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    if missing:
        raise HalfbyteError(
            f"the demo needs {' and '.join(missing)}, which this Python does not have; "
            f"pip install 'halfbyte[demo]'"
        )


@contextmanager
def _work_folder(keep: Path | None) -> Iterator[Path]:
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="halfbyte-demo-") as folder:
            yield Path(folder)
        return
    keep.mkdir(parents=True, exist_ok=True)
    if any(keep.iterdir()):
        raise OutputExists(f"{keep}: holds something, expected a new or an empty folder; name another one")
    yield keep


def _convert(pictures: Pictures, folder: Path, *, quiet: bool) -> ConvertReport:
    from halfbyte import convert

    with progress_bar("converting", quiet=quiet) as progress:
        report = convert(
            pictures.train,
            folder / "train.halfbyte",
            record_bytes=_RECORD_BYTES,
            on_error="skip",
            progress=progress,
        )
        convert(
            pictures.test,
            folder / "test.halfbyte",
            record_bytes=_RECORD_BYTES,
            on_error="skip",
            quality=False,
        )
    return report


def _about_conversion(report: ConvertReport) -> str:
    refused = f"; {len(report.refused):,} files were refused" if report.refused else ""
    return (
        f"Conversion: {format_bytes(report.source_bytes)} became {format_bytes(report.dataset_bytes)} "
        f"({format_share(report.dataset_bytes, report.source_bytes)}) in {format_duration(report.seconds)}, "
        f"{report.written:,} of {report.num_samples:,} images progressive and proven equal{refused}."
    )


def _train(
    folder: Path,
    bandwidth: int | None,
    epochs: int,
    seed: int,
    *,
    quiet: bool,
    say: Callable[[str], None],
) -> dict[str, Any]:
    """Train at fidelity 1, the middle one and full; what was measured, as JSON values."""
    from halfbyte.cli import demo_train

    demo_train.leave_cores_to_decoding()
    options = demo_train.TrainOptions(epochs=epochs, seed=seed)
    path = folder / "train.halfbyte"
    dataset = demo_train.open_training(path, options, None)
    full = dataset.num_levels
    middle = (full + 1) // 2
    tests = demo_train.test_batches(folder / "test.halfbyte", dataset.classes or (), options)
    speed = demo_train.measure_speed(path, options)
    sizes = {k: dataset.bytes_at(k) / len(dataset) for k in (1, middle, full)}
    link = bandwidth or demo_train.choose_bandwidth(speed, sizes[middle], sizes[full])
    say(
        f"Link: this machine trains on {speed:,.0f} images/s where bytes cost nothing, which takes "
        f"{format_rate(speed * sizes[full])} at full fidelity and {format_rate(speed * sizes[middle])} at "
        f"fidelity {middle}. The data set is now read through a link of {format_rate(link)}"
        + ("." if bandwidth else ", between the two.")
    )
    expected = epochs * len(dataset) * sum(max(1 / speed, size / link) for size in sizes.values())
    say(f"Training: {epochs} epochs at each of {len(sizes)} fidelities, about {max(1, round(expected)):,} s.")
    trials = []
    for fidelity in sizes:
        with progress_bar(f"training at fidelity {fidelity}", quiet=quiet) as progress:
            trial = demo_train.run_trial(
                path, fidelity, bandwidth=link, tests=tests, options=options, progress=progress
            )
        trials.append(asdict(trial))
    return {
        "images_per_s_unlimited": speed,
        "bandwidth_bytes_per_s": link,
        "epochs": epochs,
        "num_train": len(dataset),
        "num_test": sum(len(labels) for _, labels in tests),
        "num_levels": full,
        "trials": trials,
    }


def _train_packed(
    folder: Path, epochs: int, seed: int, *, quiet: bool, say: Callable[[str], None]
) -> dict[str, Any]:
    """Train under each policy of compressed activations; what was measured, as JSON values."""
    from halfbyte.cli import demo_activations, demo_train

    options = demo_train.TrainOptions(epochs=epochs, seed=seed)
    path = folder / "train.halfbyte"
    dataset = demo_train.open_training(path, options, None)
    tests = demo_train.test_batches(folder / "test.halfbyte", dataset.classes or (), options)
    say(
        "Activations: the same training, at full fidelity and without the link, with what is saved for the "
        "backward pass as it is, and in fewer bytes by three policies."
    )
    trials = []
    for policy in demo_activations.POLICIES:
        with progress_bar(f"training with {policy}", quiet=quiet) as progress:
            trial = demo_activations.run_memory_trial(
                path, policy, tests=tests, options=options, progress=progress
            )
        trials.append(asdict(trial))
    return {"batch_size": options.batch_size, "activations": trials}

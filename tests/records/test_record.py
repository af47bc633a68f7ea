"""Records in memory: what is asked of them, and by whom they are believed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from golden_parts import flipped
from record_samples import DATASET_ID, encode, fake_records, joined

from halfbyte.errors import CorruptRecord, FidelityError, NeedMoreBytes
from halfbyte.records.record import Record, check_slices, parse_record, parse_table, section_name

SAMPLES = fake_records([5], num_levels=3)[0]
WRITTEN = encode(SAMPLES, num_levels=3)
DATA = joined(WRITTEN)
HEADER = parse_record(DATA, fidelity=0, where="x").header


def read(data: bytes = DATA, fidelity: int = 3, *, verify: bool = True, extras: bool = False) -> Record:
    return parse_record(data, fidelity=fidelity, where="00003.pcr", verify=verify, extras=extras)


def damaged(section: int) -> bytes:
    """The first byte of a section is another one."""
    return flipped(DATA, HEADER.sections[section].offset)


def test_ranges_are_those_of_the_slices() -> None:
    record = read()
    for index, sample in enumerate(SAMPLES):
        ranges = record.slice_ranges(index)
        assert (ranges.shape, ranges.dtype) == ((3, 2), np.int64)
        assert [DATA[a:b] for a, b in ranges.tolist()] == list(sample.slices)
        assert record.slice_ranges(index, 2).tolist() == ranges[:2].tolist()


def test_slices_are_views_of_the_data() -> None:
    record = read()
    assert all(part.obj is DATA for part in record.slices(2))


def test_negative_indices_count_from_the_end() -> None:
    record = read(extras=True)
    assert record.slices(-1) == record.slices(4)
    assert record.extras(-1) == record.extras(4)


@pytest.mark.parametrize("fidelity", [-1, 4, 100])
def test_fidelities_that_are_not_there_are_refused(fidelity: int) -> None:
    with pytest.raises(FidelityError, match=f"00003.pcr: fidelity {fidelity} of a record with levels 1 to 3"):
        read(fidelity=fidelity)


@pytest.mark.parametrize(
    ("section", "name", "way"), [(1, "level 1", ""), (3, "level 3", ", or read it at fidelity 2")]
)
def test_damage_above_the_fidelity_asked_is_not_met(section: int, name: str, way: str) -> None:
    data = damaged(section)
    assert read(data, section - 1).fidelity == section - 1
    with pytest.raises(CorruptRecord, match=rf"00003.pcr: {name} has checksum .* copy it again{way}$"):
        read(data, section)


def test_damage_in_a_whole_level_comes_before_a_cut() -> None:
    with pytest.raises(CorruptRecord, match="level 1 has checksum"):
        read(damaged(1)[:-30])


def test_damage_in_a_level_that_is_cut_is_not_judged() -> None:
    end = HEADER.level(3).end
    with pytest.raises(NeedMoreBytes, match=f"{end - 1} bytes, but its level 3 ends at byte {end}"):
        read(damaged(3)[: end - 1])


def test_verification_of_levels_can_be_left_out() -> None:
    assert len(read(damaged(2), verify=False)) == 5
    with pytest.raises(CorruptRecord, match="sample table has checksum"):
        read(damaged(0), verify=False)


def test_extras_are_verified_before_they_are_given() -> None:
    record = read(damaged(4))
    with pytest.raises(CorruptRecord, match="extras has checksum"):
        record.extras(0)
    with pytest.raises(CorruptRecord, match="extras has checksum"):
        read(damaged(4), extras=True)


def test_extras_need_the_whole_record() -> None:
    record = read(DATA[: HEADER.prefix_bytes(3)])
    with pytest.raises(NeedMoreBytes, match="its extras ends at byte") as caught:
        record.extras(0)
    assert (caught.value.have, caught.value.need) == (HEADER.prefix_bytes(3), len(DATA))


def test_samples_without_extras_need_none() -> None:
    data = joined(encode([replace(s, metadata=b"", trailing=b"") for s in SAMPLES], num_levels=3))
    assert read(data[: parse_table(data, where="x")[0].prefix_bytes(1)], 1).extras(2) == (b"", b"")


def test_another_record_than_the_index_means_is_refused() -> None:
    other = encode(SAMPLES[::-1], num_levels=3)
    with pytest.raises(CorruptRecord, match=r"header has checksum .* but the index says"):
        parse_record(DATA, fidelity=1, where="x", row=other.row)
    with pytest.raises(
        CorruptRecord, match=r"ends at byte .* but the index says .* and 7; it is another record"
    ):
        parse_record(DATA, fidelity=1, where="x", row=replace(WRITTEN.row, ends=(*WRITTEN.row.ends[:-1], 7)))


def test_a_record_of_another_data_set_is_refused() -> None:
    with pytest.raises(
        CorruptRecord, match=f"belongs to data set {DATASET_ID.hex()}, expected {bytes(16).hex()}"
    ):
        parse_record(DATA, fidelity=1, where="x", dataset_id=bytes(16))


def test_slices_are_checked_one_by_one() -> None:
    record = read()
    parts = [bytes(part) for part in record.slices(0)]
    row = (record.table.checksums[0], record.table.lengths[0])
    check_slices(parts, *row, where="x")
    with pytest.raises(CorruptRecord, match=r"^x: level 1 has checksum .* but the sample table says"):
        check_slices([flipped(parts[0], 0), *parts[1:]], *row, where="x")
    with pytest.raises(NeedMoreBytes, match=f"^x: level 1 gave 0 of {len(parts[0])} bytes"):
        check_slices([b"", *parts[1:]], *row, where="x")


def test_a_damaged_sample_is_told_from_its_neighbours() -> None:
    start = int(read().slice_ranges(2)[0, 0])
    record = read(flipped(DATA, start), verify=False)
    for index in (0, 1, 3, 4):
        record.check(index)
    with pytest.raises(CorruptRecord, match=r"00003.pcr: sample 2 \(0/2.jpg\): level 1 has checksum"):
        record.check(2)


def test_sections_have_names() -> None:
    names = [section_name(section) for section in HEADER.sections]
    assert names == ["sample table", "level 1", "level 2", "level 3", "extras"]


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_takes_any_buffer(kind: type) -> None:
    assert read(kind(DATA)).slices(1) == read().slices(1)

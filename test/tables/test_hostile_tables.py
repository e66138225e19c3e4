"""Tables made to harm: what unpacks to far more than it says, or what a library's reader would misread."""

import resource
import struct
import zlib

import h5py
import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import scipy.io

from impact_aware.errors import InvalidInputError
from impact_aware.tables.arrays import MOST_OBJECTS
from impact_aware.tables.column_file import open_columns


def bomb_of_structures(path):
    scipy.io.savemat(path, {"time": np.arange(5.0), "log": {"q": np.zeros(4_000_000)}}, do_compression=True)


def bomb_of_cells(path):
    cells = np.empty((1, 10), dtype=object)
    cells[0, :] = [np.zeros(400_000) for _ in range(10)]
    scipy.io.savemat(path, {"time": np.arange(5.0), "cells": cells}, do_compression=True)


def bomb_of_vectors(path):
    pyarrow.parquet.write_table(pyarrow.table({"q": pyarrow.array([np.zeros(4_000_000)])}), path, compression="zstd")


def bomb_of_datasets(path):
    with h5py.File(path, "w") as file:
        for number in range(20):
            file.create_dataset(f"q{number}", (200_000,), "f8", chunks=(100_000,), compression="gzip")


def bomb_of_one_chunk(path):
    with h5py.File(path, "w") as file:
        file.create_dataset("time", (10_000_000,), "f8", chunks=(10_000_000,), compression="gzip")


def bomb_in_a_chunk(path, unpacked=1 << 30, filters=1):
    """What a chunk of 80 bytes unpacks to is decided by its bytes alone."""
    packer = zlib.compressobj(9)
    stream = b"".join(packer.compress(bytes(1 << 24)) for _ in range(unpacked >> 24)) + packer.flush()
    settings = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    settings.set_chunk((10,))
    settings.set_deflate(9)
    if filters > 1:
        settings.set_deflate(9)
        stream = zlib.compress(stream, 9)
    with h5py.File(path, "w") as file:
        space = h5py.h5s.create_simple((10,))
        made = h5py.h5d.create(file.id, b"time", h5py.h5t.IEEE_F64LE, space, settings)
        made.write_direct_chunk((0,), stream)


def bomb_of_two_filters(path):
    bomb_in_a_chunk(path, filters=2)


def bomb_of_texts(path):
    column = pyarrow.array(["1" * 10_000] * 3000)
    pyarrow.parquet.write_table(pyarrow.table({"t": column}), path, compression="zstd", use_dictionary=False)


def columns_of_nothing(path):
    with open(path, "wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": (0, 10**12)})


def nested_groups(path):
    with h5py.File(path, "w") as file:
        place = file
        for _ in range(200):
            place = place.create_group("g")
        place["time"] = np.arange(5.0)


def many_groups(path):
    with h5py.File(path, "w") as file:
        for number in range(MOST_OBJECTS + 1):
            file.create_group(str(number))


BOMBS = {
    "structures.mat": (bomb_of_structures, "when unpacked"),
    "cells.mat": (bomb_of_cells, "when unpacked"),
    "vectors.parquet": (bomb_of_vectors, "32000000 bytes when unpacked"),
    "datasets.h5": (bomb_of_datasets, "bytes when unpacked"),
    "chunk.h5": (bomb_of_one_chunk, "larger chunks, expected 67108864 bytes each"),
    "filter.h5": (bomb_in_a_chunk, "chunks unpack to their size"),
    "filters.h5": (bomb_of_two_filters, "chunks unpack to their size"),
    "texts.parquet": (bomb_of_texts, "bytes when unpacked"),
    "columns.npy": (columns_of_nothing, "1000000000000 columns, expected 4096 at most"),
    "many.h5": (many_groups, "more than 12288 groups and datasets"),
    "groups.h5": (nested_groups, "groups in groups, expected 20 levels"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_what_unpacks_within_variables_counts(tmp_path, monkeypatch, name):
    if name != "chunk.h5":
        monkeypatch.setattr("impact_aware.resources.LEAST_UNPACKED", 1 << 24)
    write, words = BOMBS[name]
    write(tmp_path / name)
    with pytest.raises(InvalidInputError, match=words):
        open_columns(tmp_path / name)


def test_a_long_text_in_every_row_is_read_once(tmp_path):
    """Read as texts, the times are 4 GB, and their row of vectors 8 GB."""
    row, path = "0.5" + "0" * 100_000, tmp_path / "t.parquet"
    column = pyarrow.array(["0.25", None, *[row] * 40_000])
    vectors = pyarrow.array([["1", row], *[[row, "2"]] * 40_001])
    pyarrow.parquet.write_table(pyarrow.table({"t": column, "q": vectors}), path, store_schema=False)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = open_columns(path)
    assert found.widths == {"t": 1, "q": 2}
    (values,) = found.pieces(["t", "q"])
    np.testing.assert_array_equal(values["t"], [0.25, np.nan, *[0.5] * 40_000])
    np.testing.assert_array_equal(values["q"], [[1.0, 0.5], *[[0.5, 2.0]] * 40_001])
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1_000_000


@pytest.mark.parametrize("above", [0, 500])
def test_a_line_without_end_is_refused_as_soon_as_it_is_too_long(tmp_path, above):
    """A file of zeros has any size, and takes no room on the disk."""
    with open(tmp_path / "t.csv", "w") as file:
        file.write("t,q1\n" * (above > 0) + "0.5,1\n" * above)
        file.truncate(1 << 40)
    with pytest.raises(InvalidInputError, match=f"line {above + 1 + (above > 0)}.*1048576 characters or more"):
        open_columns(tmp_path / "t.csv").whole(["t", "q1"])


def test_a_matlab_file_that_its_reader_would_misread_is_refused(tmp_path, recwarn):
    """One with a name twice, of which the last would count, and one with numbers of another machine."""
    for name, version in (("twice.mat", "5"), ("cray.mat", "4")):
        scipy.io.savemat(tmp_path / name, {"time": np.arange(5.0)}, format=version)
    content = (tmp_path / "twice.mat").read_bytes()
    (tmp_path / "twice.mat").write_bytes(content + content[128:])
    content = (tmp_path / "cray.mat").read_bytes()
    (tmp_path / "cray.mat").write_bytes(struct.pack("<i", 4000) + content[4:])
    for name, words in (("twice.mat", "Duplicate variable name"), ("cray.mat", "byte ordering")):
        with pytest.raises(InvalidInputError, match=words):
            open_columns(tmp_path / name)
    assert not recwarn.list

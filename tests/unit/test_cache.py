"""Arrays on disk: what comes back is what was written, and what is damaged is refused."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays, scalar_dtypes

from nav_eval.cache import ArrayFile, lock_maker, write_arrays

VERTEX = np.dtype([("position", "<f4", 3), ("tint", "u1", 4)])


@given(
    st.dictionaries(st.text(max_size=9), scalar_dtypes().flatmap(lambda d: arrays(d, array_shapes(min_dims=0)))),
    st.dictionaries(st.text(), st.integers(-(2**60), 2**60) | st.text() | st.none()),
)
def test_everything_comes_back(tmp_path_factory, written, about):
    path = tmp_path_factory.mktemp("arrays") / "file"
    write_arrays(path, written, about=about)
    file = ArrayFile(path)
    assert file.about == about
    for name, array in written.items():
        back = file.array(name, array.dtype, array.ndim)
        assert (back.shape, back.tobytes()) == (array.shape, array.tobytes())
        assert not back.flags.writeable


def test_records_and_empty_arrays_come_back(tmp_path):
    records = np.zeros(5, dtype=VERTEX)
    records["position"] = np.arange(15).reshape(5, 3)
    write_arrays(tmp_path / "file", {"records": records, "none": np.empty((0, 3))}, about={})
    file = ArrayFile(tmp_path / "file")
    assert np.array_equal(file.array("records", VERTEX, 1), records)
    assert file.array("none", np.float64, 2).shape == (0, 3)


def test_a_mapped_array_survives_its_file(tmp_path):
    path = tmp_path / "file"
    write_arrays(path, {"a": np.arange(1000)}, about={})
    mapped = ArrayFile(path).array("a", np.int64, 1)
    write_arrays(path, {"a": np.zeros(3)}, about={})  # replaced, not written over
    path.unlink()
    assert mapped.sum() == 499500


@pytest.mark.parametrize(
    ("kind", "axes", "words"),
    [(np.int32, 1, "holds 1 axes of"), (np.int64, 2, "holds 1 axes"), (VERTEX, 1, "holds 1 axes of")],
)
def test_other_arrays_than_expected_are_refused(tmp_path, kind, axes, words):
    write_arrays(tmp_path / "file", {"a": np.arange(8)}, about={})
    with pytest.raises(ValueError, match=words):
        ArrayFile(tmp_path / "file").array("a", kind, axes)


@pytest.mark.parametrize("entry", [b'["<i8",[8],640]', b'["<i8",[8],-64]', b'["<i8",[-8],0]', b'["<i8",[9000],0]'])
def test_entries_that_lead_out_of_the_file_are_refused(tmp_path, entry):
    path = tmp_path / "file"
    write_arrays(path, {"a": np.arange(8)}, about={})
    path.write_bytes(path.read_bytes().replace(b'["<i8",[8],0]', entry))
    with pytest.raises(ValueError, match=r"cut off|holds"):
        ArrayFile(path).array("a", np.int64, 1)


@pytest.mark.parametrize("content", [b"", b"rubbish", b"[]\n", b'{"about":{}}\n'])
def test_other_files_are_refused(tmp_path, content):
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(ValueError, match=r"empty|header"):
        ArrayFile(tmp_path / "file")


def test_a_failed_write_leaves_what_was_there(tmp_path):
    path = tmp_path / "file"
    write_arrays(path, {"a": np.arange(3)}, about={})
    with pytest.raises(TypeError):
        write_arrays(path, {"a": np.arange(4)}, about={"never": object()})
    assert list(tmp_path.iterdir()) == [path]
    assert len(ArrayFile(path).array("a", np.int64, 1)) == 3


def test_what_several_need_is_made_once(tmp_path):
    path, makers, everybody = tmp_path / "kept" / "file", [], threading.Barrier(4)

    def make(number):
        everybody.wait()
        with lock_maker(path):
            if not path.exists():
                makers.append(number)
                write_arrays(path, {"a": np.arange(3)}, about={})

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(make, range(4)))
    assert len(makers) == 1
    assert list(path.parent.iterdir()) == [path]


def test_a_cache_that_cannot_be_written_to_has_no_locks(tmp_path):
    (tmp_path / "kept").write_text("a file where the folder should be")
    with lock_maker(tmp_path / "kept" / "file"):
        pass

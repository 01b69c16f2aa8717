"""Files that are broken, foolish or malicious: one clear refusal each, little memory, no traceback."""

import gzip
import json
import math
import tracemalloc
import zlib

import pytest
from dataset_factories import r2r_document, r2r_episode, without, write_json
from hypothesis import given, settings
from hypothesis import strategies as st

from nav_eval.dataset.json_file import MIB, FileLimits
from nav_eval.dataset.loader import DatasetRequest, load_dataset, stream_episodes
from nav_eval.errors import DatasetError, UnknownName

STREAMED = FileLimits(whole=10)


def load(path, **request):
    return load_dataset(DatasetRequest(format="r2r", path=path, **request))


def refusal_of(path, **request):
    with pytest.raises(DatasetError) as refusal:
        load(path, **request)
    message = str(refusal.value)
    assert path.name in message
    assert "\n" not in message
    return message


@pytest.mark.parametrize("limits", [FileLimits(), STREAMED], ids=["whole", "streamed"])
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"start_position": [1.0, 2.0]}, "episode '7': start_position: expected `array` of length 3"),
        ({"start_position": [1.0, "2", 3.0]}, "episode '7': start_position[1] is \"2\": expected `float`, got `str`"),
        (
            {"start_position": [1.0, 2e7, 3.0]},
            "episode '7': start_position[1] is 20000000.0: expected `float` <= 1000000",
        ),
        ({"start_position": None}, "episode '7': start_position is null: expected `array`, got `null`"),
        ({"start_position": [float("nan"), 0, 0]}, "episode '7': start_position[0] is NaN; only finite"),
        ({"info": {"geodesic_distance": float("inf")}}, "episode '7': info.geodesic_distance is Infinity; only finite"),
        ({"info": {"geodesic_distance": "far"}}, "episode '7': info.geodesic_distance is 'far'; allowed are metres"),
        ({"info": {"geodesic_distance": -1}}, "episode '7': info.geodesic_distance is -1; allowed are metres"),
        (
            {"start_rotation": [0.5, 0.5, 0.5, 0.6]},
            "episode '7': start_rotation is [0.5, 0.5, 0.5, 0.6]; allowed is a unit",
        ),
        ({"start_rotation": [0, 0, 0, 0]}, "episode '7': start_rotation is [0.0, 0.0, 0.0, 0.0]; allowed is a unit"),
        ({"goals": [{"radius": 3.0}]}, "episode '7': goals[0]: object missing required field `position`"),
        ({"goals": []}, "episode '7': goals is missing"),
        ({"reference_path": [[0, 0, None]]}, "episode '7': reference_path[0][2] is null: expected `float`"),
        ({"instruction": {"instruction_text": "  "}}, "episode '7': the instruction is empty; give a text"),
        ({"instruction": {"instruction_text": 5}}, "episode '7': instruction.instruction_text is 5: expected `str`"),
        ({"instruction": "go"}, "episode '7': instruction is \"go\": expected `object`, got `str`"),
        ({"scene_id": ""}, "episode '7': scene_id is ''"),
        ({"scene_id": "/etc/passwd"}, "episode '7': scene_id is '/etc/passwd'; allowed is a path inside"),
        ({"scene_id": "mp3d/../../secret.glb"}, "episode '7': scene_id is 'mp3d/../../secret.glb'"),
        ({"scene_id": "data/scene_datasets//etc/passwd"}, "episode '7': scene_id is '/etc/passwd'"),
        ({"episode_id": ""}, "empty episode_id"),
        ({"episode_id": 7.5}, "episodes[1]: episode_id is 7.5: expected `int | str`"),
        ({"trajectory_id": []}, "episode '7': trajectory_id: expected `int | str | null`, got `array`"),
    ],
)
def test_a_bad_field_is_named_with_its_episode_and_value(tmp_path, changes, said, limits):
    document = r2r_document(r2r_episode(1), r2r_episode(7) | changes)
    assert said in refusal_of(write_json(tmp_path / "val.json.gz", document), limits=limits)


@pytest.mark.parametrize("limits", [FileLimits(), STREAMED], ids=["whole", "streamed"])
@pytest.mark.parametrize("field", ["scene_id", "start_position", "start_rotation", "instruction"])
def test_a_missing_field_is_named(tmp_path, field, limits):
    path = write_json(tmp_path / "val.json.gz", r2r_document(r2r_episode(1), without(r2r_episode(7), field)))
    assert f"episode '7': object missing required field `{field}`" in refusal_of(path, limits=limits)


def test_a_missing_id_is_named_by_its_place(tmp_path):
    path = write_json(tmp_path / "val.json.gz", r2r_document(r2r_episode(1), without(r2r_episode(), "episode_id")))
    assert "episodes[1]: object missing required field `episode_id`" in refusal_of(path)


def test_numbers_beyond_floats_are_refused(tmp_path):
    path = tmp_path / "val.json"
    path.write_text(json.dumps(r2r_document(r2r_episode(7))).replace("7.96", "1e999"))
    assert "episode '7': info.geodesic_distance is Infinity; only finite numbers are allowed" in refusal_of(path)


def test_duplicate_ids_are_refused_also_when_one_is_a_number_and_one_a_text(tmp_path):
    path = write_json(tmp_path / "val.json.gz", r2r_document(r2r_episode(7), r2r_episode("7")))
    assert "episode id '7' occurs twice" in refusal_of(path)


@pytest.mark.parametrize("limits", [FileLimits(), STREAMED], ids=["whole", "streamed"])
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "is empty; download or copy it again"),
        (b"   ", "ends in the middle"),
        (b'{"episodes": [', "ends in the middle of its JSON, after 14 bytes"),
        (b'{"episodes": [{"episode_id": 1}', "ends in the middle"),
        (b'{"episodes": ["abc', "ends in the middle"),
        (b'{"episodes": 5}', "at byte 13 expected '[', found '5'"),
        (b'{"episodes": [,]}', "expected a value, found ','"),
        (b'{"episodes": [{"a": 1]]}', "not valid JSON"),
        (b'{"episodes": [{"a": nope}]}', "episodes[0]: is not valid JSON at line 1 column 7"),
        (b'{"episodes": []} tail', "at byte 17 expected the end of the file, found 't'"),
        (b'{"episodes" []}', "at byte 12 expected ':', found '['"),
        (b"{episodes: []}", "at byte 1 expected a key in double quotes, found 'e'"),
        (b'{"episodes": [] "x": 1}', "at byte 16 expected ',', found '\"'"),
        (b'{"other": 1}', "missing required field `episodes`"),
        (b'{"episodes": []}', "holds no episodes"),
        (b"null", "at byte 0 expected '{', found 'n'"),
        (b"<html>404</html>", "at byte 0 expected '{', found '<'"),
        (b'{"episodes": [{"episode_id": "\xff\xfe"}]}', "episodes[0]: is not UTF-8 text"),
        (b'{"\xff": 1}', "expected a key that is valid text"),
        (b'{"episodes": [' + b"[" * 100_000 + b"]" * 100_000 + b"]}", "is nested too deeply"),
        (
            b'{"episodes": [], "instruction_vocab": {"word_list": 5}}',
            "instruction_vocab.word_list is 5: expected `array`",
        ),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n", "is a Git LFS pointer"),
    ],
)
def test_what_is_not_such_a_document(tmp_path, text, said, limits):
    path = tmp_path / "val.json"
    path.write_bytes(text)
    assert said in refusal_of(path, limits=limits)


def test_a_byte_order_mark_is_no_fault(tmp_path):
    path = tmp_path / "val.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(r2r_document()).encode())
    assert len(load(path)) == 1


def test_gzip_without_the_ending_is_read(tmp_path):
    path = tmp_path / "val.json"
    path.write_bytes(gzip.compress(json.dumps(r2r_document()).encode()))
    assert len(load(path)) == 1


@pytest.mark.parametrize("limits", [FileLimits(), STREAMED], ids=["whole", "streamed"])
@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda data: data[: len(data) // 2], "ends in the middle of its gzip data"),
        (lambda data: data[:-4], "ends in the middle of its gzip data"),
        (lambda data: data[:-8] + b"\0\0\0\0" + data[-4:], "is damaged: CRC check failed"),
        (lambda data: data[:20] + b"\xff" * 20 + data[40:], "is damaged"),
        (lambda data: b"PK\x03\x04" + data, "is not gzip: it begins with b'PK"),
        (lambda data: b"", "is empty; download or copy it again"),
        (lambda data: data + b"trailing garbage", "is damaged"),
    ],
)
def test_damaged_gzip_is_named(tmp_path, damage, said, limits):
    path = tmp_path / "val.json.gz"
    path.write_bytes(damage(gzip.compress(json.dumps(r2r_document()).encode())))
    assert said in refusal_of(path, limits=limits)


def test_several_gzip_members_are_one_file(tmp_path):
    text = json.dumps(r2r_document()).encode()
    path = tmp_path / "val.json.gz"
    path.write_bytes(gzip.compress(text[:100]) + gzip.compress(text[100:]))
    assert len(load(path)) == 1


def test_files_that_are_not_there_or_not_files(tmp_path):
    assert "Cannot read" in refusal_of(tmp_path / "missing.json.gz")
    (tmp_path / "secret.json").write_text("{}")
    with pytest.raises(UnknownName, match=r"no dataset format 'r2'. Did you mean 'r2r'"):
        load_dataset(DatasetRequest(format="r2", path=tmp_path / "secret.json"))


def write_bomb(path, head=b"", mebibytes=32):
    """Zeros compress a thousandfold."""
    packer = zlib.compressobj(9, wbits=31)
    with path.open("wb") as file:
        file.write(packer.compress(head))
        for _ in range(mebibytes):
            file.write(packer.compress(b" " * MIB))
        file.write(packer.flush())
    return path


def peak_memory(action):
    tracemalloc.start()
    action()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_a_decompression_bomb_is_refused_early(tmp_path):
    path = write_bomb(tmp_path / "bomb.json.gz", b'{"episodes": [')
    assert peak_memory(lambda: refusal_of(path)) < 24 * MIB
    assert "decompression bomb" in refusal_of(path)


def test_more_than_the_agreed_size_is_refused(tmp_path):
    path = write_bomb(tmp_path / "large.json.gz", b'{"episodes": [', mebibytes=12)
    assert "unpacks to more than 8 MiB" in refusal_of(path, limits=FileLimits(whole=MIB, total=8 * MIB))


def test_a_value_larger_than_agreed_is_refused(tmp_path):
    path = tmp_path / "val.json"
    path.write_text('{"episodes": [{"episode_id": "' + "x" * 4 * MIB + '"}]}')
    limits = FileLimits(whole=MIB, value=2 * MIB)
    assert "is larger than 2 MiB; split the file" in refusal_of(path, limits=limits)


def test_what_nobody_wants_is_skipped_however_large_it_is(tmp_path):
    path = tmp_path / "val.json"
    noise = {"thumbnails": ["x" * 1000] * 4000, "nested": [[{"a": [1, 2]}]] * 20_000}
    path.write_text(json.dumps(noise | {"episodes": [r2r_episode()]}))
    limits = FileLimits(whole=MIB // 4, value=MIB)
    assert load(path, limits=limits).episode_ids == ("1",)


def test_a_long_file_is_streamed_in_little_memory(tmp_path):
    path = tmp_path / "val.json"
    episode = json.dumps(r2r_episode("@"))
    with path.open("w") as file:  # 3 MiB of episodes, written without holding them either
        file.write('{"episodes": [' + episode.replace("@", "first"))
        for number in range(2_000):
            file.write("," + episode.replace("@", str(number)))
        file.write("]}")
    request = DatasetRequest(format="r2r", path=path, limits=FileLimits(whole=MIB // 4))

    def count():
        assert sum(1 for _ in stream_episodes(request)) == 2_001

    assert peak_memory(count) < 2 * MIB  # the ids are remembered, the episodes are not


@given(data=st.data(), streamed=st.booleans())
@settings(max_examples=60, deadline=None)
def test_any_damage_gives_a_refusal_or_sound_episodes(tmp_path_factory, data, streamed):
    text = bytearray(
        json.dumps(r2r_document(r2r_episode(1), r2r_episode(2, instruction={"instruction_text": "Go."}))).encode()
    )
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 20)))
        text[start:end] = data.draw(
            st.sampled_from([b"", b'"', b"{", b"]", b"\\", b",", b"NaN", b"1e999", b"\xff", b"null"])
        )
    path = tmp_path_factory.getbasetemp() / "damaged.json"
    path.write_bytes(bytes(text))
    message, episodes = "", ()
    try:
        episodes = load(path, limits=STREAMED if streamed else FileLimits())
    except DatasetError as refusal:
        message = str(refusal)
    assert bool(episodes) != (str(path) in message)
    assert all(math.isfinite(x) for episode in episodes for x in episode.start_position + episode.start_rotation)

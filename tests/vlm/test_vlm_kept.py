"""Answers are kept as they come, whatever happens then, in little memory."""

import pytest

from oodometer.errors import StoreError
from oodometer.models.vlm import kept as kept_module
from oodometer.models.vlm.client import Reply
from oodometer.models.vlm.kept import Answer, Kept


def answer(k, asker="me", image=None):
    return Answer(f"key{k}", asker, "space", f"image{k}" if image is None else image, f"text {k}\n\u2028é", "stop")


def test_another_process_finds_every_answer(tmp_path):
    kept = Kept(tmp_path / "answers")
    assert kept.get("key0", "image0") is None
    for k in range(50):
        kept.put(answer(k))
    again = Kept(tmp_path / "answers")
    assert [again.get(f"key{k}", f"image{k}") for k in range(50)] == [
        Reply(f"text {k}\n\u2028é", "stop") for k in range(50)
    ]
    assert again.get("key1", "image2") is None


@pytest.mark.parametrize("cut", range(1, 40, 3))
def test_a_torn_line_is_passed_over_and_the_next_is_whole(tmp_path, cut):
    kept = Kept(tmp_path)
    for k in range(3):
        kept.put(answer(k, image="one"))
    (file,) = tmp_path.glob("*.jsonl")
    file.write_bytes(file.read_bytes()[:-cut])
    again = Kept(tmp_path)
    assert again.get("key1", "one")
    # Only the line's end is missing after the first cut, and then it is whole.
    assert (again.get("key2", "one") is None) == (cut > 1)
    again.put(answer(3, image="one"))
    last = Kept(tmp_path)
    assert last.get("key3", "one")
    assert (last.get("key2", "one") is None) == (cut > 1)


@pytest.mark.parametrize("rubbish", [b"\n", b"{}\n", b"null\n", b"\xff\n", b'{"key": 1}\n', b"[" * 5000 + b"\n"])
def test_a_line_that_is_no_answer_is_passed_over(tmp_path, rubbish):
    Kept(tmp_path).put(answer(1))
    (file,) = tmp_path.glob("*.jsonl")
    file.write_bytes(rubbish + file.read_bytes() + rubbish)
    assert Kept(tmp_path).get("key1", "image1")
    assert sum(Kept(tmp_path).counted("me").values()) == 1


def test_answers_are_counted_by_image_and_only_ones_own(tmp_path):
    kept = Kept(tmp_path)
    for k in range(4):
        kept.put(answer(k, image="a" if k < 3 else "b"))
        kept.put(answer(k + 10, asker="another", image="a"))
    kept.put(answer(0, image="a"))  # the same once more
    assert kept.counted("me") == {("space", "a"): 3, ("space", "b"): 1}
    assert Kept(tmp_path / "nothing").counted("me") == {}


def test_few_files_are_held_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr(kept_module, "HELD", 4)
    kept = Kept(tmp_path)
    for k in range(60):
        kept.put(answer(k))
    assert len(kept._held) == 4
    assert all(kept.get(f"key{k}", f"image{k}") for k in range(60))
    assert len(kept._held) == 4


def test_a_folder_that_cannot_be_written_is_a_store_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="writing"):
        Kept(tmp_path / "file").put(answer(1))

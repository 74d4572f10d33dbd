"""`oodometer fetch`: what it lists, what it says, how it ends."""

import pytest
from made_archives import tar_of

from oodometer import fetching
from oodometer.cli import main
from oodometer.fetching import sets
from oodometer.published import PUBLISHED


@pytest.fixture
def call(capsys):
    """Return a function that runs a command and gives its exit status, output and errors."""

    def run(*arguments):
        with pytest.raises(SystemExit) as end:
            main([str(a) for a in arguments])
        output = capsys.readouterr()
        return end.value.code or 0, output.out, output.err

    return run


@pytest.mark.parametrize("arguments", [["fetch"], ["fetch", "--list"], ["fetch", "imagenet-r", "--list"]])
def test_the_list_has_every_set_with_its_size_checksum_and_licence(call, arguments):
    status, out, _ = call(*arguments)
    assert status == 0
    lines = {line.split()[0]: line.split() for line in out.splitlines() if line}
    assert set(PUBLISHED) <= set(lines)
    assert lines["imagenet-c"][1:5] == ["50.2", "GB", "3,750,000", "md5"]
    assert lines["imagenet-r"][1:] == ["2.2", "GB", "30,000", "sha256", "MIT", "github.com/hendrycks/imagenet-r"]
    assert lines["imagenet-o"][1] == "?"
    assert lines["tiny-imagenet-c"][5:7] == ["see", "page"]
    assert "frost: " in out
    assert all(len(line) <= 120 for line in out.splitlines())


def test_a_fetch_says_where_the_set_is_and_what_it_came_from(call, server, published, tmp_path):
    archive = published().archives[0]
    outputs = [call("fetch", "imagenet-r", "--to", tmp_path) for _ in range(2)]
    (status, out, err), (_, again, nothing) = outputs
    assert status == 0
    assert out.splitlines()[0] == f"imagenet-r is in {tmp_path / 'imagenet-r'}."
    assert f"imagenet-r.tar, {archive.digest}, fetched " in out
    assert archive.url in out
    assert "Licence: MIT. Page: https://example.org/the-set" in out
    assert "imagenet-r.tar: download" in err
    assert again == out  # a second fetch says that it is there
    assert nothing == ""


def test_the_groups_of_a_set_are_told_one_by_one(call, server, published, tmp_path):
    files = {f"{g}.tar": tar_of({f"{g}_x/1/n01440764/a.JPEG": g.encode()}) for g in ("noise", "blur")}
    published("imagenet-c", files)
    status, out, _ = call("fetch", "imagenet-c", "--to", tmp_path)
    assert status == 0
    assert out.count(", fetched ") == 2


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["fetch", "imagenet-s"], r"Did you mean 'imagenet-"),
        (["fetch", "frost", "--to", "x"], "frost go into your cache"),
        (["fetch", "imagenet-r", "--mirror", "ftp://x"], "mirror must be"),
    ],
)
def test_bad_input_is_one_message_and_status_two(call, tmp_path, monkeypatch, arguments, told):
    monkeypatch.chdir(tmp_path)
    status, out, err = call(*arguments)
    assert status == 2
    assert out == ""
    assert told in err
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == []


def test_a_failed_download_is_one_message_and_status_two(call, server, published, tmp_path):
    published()
    server.files.clear()
    status, out, err = call("fetch", "imagenet-r", "--to", tmp_path)
    assert status == 2
    assert out == ""
    assert "404" in err
    assert "Traceback" not in err


def test_a_fetch_that_is_stopped_says_what_is_kept(call, monkeypatch, tmp_path):
    def stopped(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(fetching, "fetch", stopped)
    status, _, err = call("fetch", "imagenet-r", "--to", tmp_path)
    assert status == 130
    assert "What was downloaded is kept; the same command continues." in err


def test_frost_is_fetched_by_name(call, monkeypatch, tmp_path):
    monkeypatch.setattr(sets, "fetch_frost", lambda: tmp_path)
    status, out, _ = call("fetch", "frost")
    assert status == 0
    assert out == f"frost is in {tmp_path}.\n"

"""What waits in a spool is found again whole, or not at all, wherever the file was cut or damaged."""

import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from oodometer.building.spool import Spool

PICTURES = st.dictionaries(
    st.tuples(st.integers(0, 5), st.integers(0, 5)), st.binary(max_size=20), min_size=1, max_size=6
)


def filled(path, pictures):
    """Write pictures; return where the file ended after each."""
    spool, ends = Spool(path), []
    for key, data in pictures.items():
        spool.write(key, data)
        ends.append(path.stat().st_size)
    spool.release()
    return ends


@given(PICTURES, st.data())
def test_a_spool_that_was_cut_or_damaged_keeps_what_is_before(pictures, data):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "spool"
        ends = filled(path, pictures)
        content = bytearray(path.read_bytes())
        place = data.draw(st.integers(0, len(content) - 1))
        if data.draw(st.booleans()):
            del content[place:]
        else:
            content[place] ^= data.draw(st.integers(1, 255))
        path.write_bytes(content)
        spool = Spool(path)
        whole = [key for key, end in zip(pictures, ends, strict=True) if end <= place]
        assert [key for key in pictures if key in spool] == whole
        for key in pictures.keys() - whole:
            spool.write(key, pictures[key])
        spool.release()
        again = Spool(path)
        assert {key: again.read(key) for key in pictures} == pictures
        again.remove()
        assert not path.exists()


def test_a_spool_makes_no_file_before_there_is_a_picture(tmp_path):
    spool = Spool(tmp_path / "folder" / "spool")
    assert (0, 0) not in spool
    spool.remove()
    assert list(tmp_path.iterdir()) == []

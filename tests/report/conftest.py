"""Synthetic runs for the tests of the report."""

import pytest

from synthetic_runs import write_run


@pytest.fixture
def make_run(tmp_path):
    """Write a run; the arguments are the fields of ``synthetic_runs.Plan``."""

    def make(**wishes):
        return write_run(tmp_path / "run", **wishes)

    return make

"""Sane sets of every kind have no faults; what they have to say otherwise is as it should be."""

import pytest
import sane

import oodometer
from oodometer.datasets.recognise import KINDS


def codes(diagnosis, severity="fault"):
    return {finding.code for finding in diagnosis.findings if finding.severity == severity}


def test_there_is_a_sane_set_of_every_kind():
    assert sane.KINDS.keys() == KINDS.keys()


@pytest.mark.parametrize("kind", sane.KINDS)
def test_sane_sets_have_no_faults(kind, tmp_path):
    diagnosis = oodometer.check(sane.KINDS[kind](tmp_path / "set"), progress=False)
    assert diagnosis.kind == kind
    assert diagnosis.findings == diagnosis.notes
    assert diagnosis.ok

"""A corruption at a time, and a picture to corrupt."""

import pytest
from pictures import textured

from oodometer.corruptions import EDITIONS, list_corruptions


@pytest.fixture(params=list_corruptions("all"))
def corruption(request):
    if request.param == "frost":
        request.getfixturevalue("frost")
    return request.param


@pytest.fixture(params=EDITIONS)
def edition(request):
    return request.param


@pytest.fixture(scope="session")
def picture():
    return textured(224, 224)

"""The adapters against their frameworks, which only an environment of constraints-frameworks.txt has."""

import importlib.util

import numpy as np
import PIL.Image
import pytest
import ray_nodes

# Elsewhere these files cannot even be imported. Where it is, a framework that is missing is an error.
collect_ignore_glob = [] if importlib.util.find_spec("torchvision") else ["test_*.py"]

CLOSE = 1e-4
"""How near the logits must be to those of the framework itself, where pictures differ by 1 at most."""


@pytest.fixture(scope="session")
def pictures():
    """Make four pictures of 224 x 224 with structure of several sizes."""
    rng = np.random.default_rng(0)
    made = []
    for side in (7, 14, 56, 112):
        coarse = PIL.Image.fromarray(rng.integers(0, 256, (side, side, 3)).astype(np.uint8))
        made.append(np.asarray(coarse.resize((224, 224), PIL.Image.Resampling.BICUBIC)))
    return np.stack(made)


@pytest.fixture
def agree():
    """Return a check that two arrays of logits agree, by the scale on which they tell the pictures apart."""

    def check(found, expected):
        expected = np.asarray(expected)
        apart = np.abs(expected - expected[0]).max()
        assert apart > 0.05 * np.abs(expected).max()
        assert found.shape == expected.shape
        np.testing.assert_allclose(found / apart, expected / apart, rtol=0, atol=CLOSE)

    return check


@pytest.fixture
def resize():
    """Return a function that resizes pictures as Pillow does, which is what the frameworks' own evaluations use."""

    def made(pictures, side, filter_):
        return np.stack([np.asarray(PIL.Image.fromarray(p).resize((side, side), filter_)) for p in pictures])

    return made


@pytest.fixture(scope="session")
def s3():
    """Run a server with the interface of S3 on this machine, and say where it is to this process and what it starts."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    names = {"AWS_ENDPOINT_URL": f"http://{host}:{port}", "AWS_DEFAULT_REGION": "us-east-1"}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**names, "AWS_ACCESS_KEY_ID": "nobody", "AWS_SECRET_ACCESS_KEY": "nothing"}.items():
            patch.setenv(name, value)
        yield
    server.stop()


@pytest.fixture(scope="session")
def nodes(s3, tmp_path_factory):
    """Run a Ray cluster of two nodes with a processor each; what they need of the environment is set before."""
    from ray.cluster_utils import Cluster

    state = tmp_path_factory.mktemp("faulty")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in ray_nodes.environment(state).items():
            patch.setenv(name, value)
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        options = {"num_cpus": 1, "object_store_memory": ray_nodes.STORE, "include_dashboard": False}
        cluster = Cluster(initialize_head=True, head_node_args=options)
        cluster.add_node(num_cpus=1, object_store_memory=ray_nodes.STORE)
        cluster.wait_for_nodes()
        yield cluster
        cluster.shutdown()


@pytest.fixture
def faults(nodes):
    """Return the folder by which a test asks ``faulty`` to fail; nothing is asked for at its end."""
    import faulty

    folder = faulty.state()
    yield folder
    for file in folder.iterdir():
        file.unlink()


@pytest.fixture
def bucket(s3, tmp_path):
    """Make a bucket of a test's own."""
    return ray_nodes.Bucket(tmp_path.name.replace("_", "-")[:40])

"""The promises of the design: imports point one way, the facade is what it says, importing the package is light."""

import ast
import functools
import subprocess
import sys
from pathlib import Path

import oodometer

PACKAGE = Path(oodometer.__file__).parent

# From the bottom to the top. A module imports only from layers below its own, or from its own folder.
LAYERS = [
    {"errors", "families", "progress", "published", "published_results", "shifts"},
    {"arguments"},
    {"types", "seeding", "continuing", "outfolder", "sharding", "storage", "threads", "meter"},
    {"textures", "scoring", "sampling"},
    {"corruptions", "datasets", "models", "metrics", "fetching"},
    {"resampling", "perturbations"},
    {"compat", "transforms", "store", "testing", "jpeg_file", "preprocess", "predicting"},
    {"tables", "clean_images"},
    {"stored"},
    {"run_baseline"},
    {"pairing"},
    {"report", "plan"},
    {"inputs", "pictures", "prebuilt"},
    {"benchmarks", "road", "run", "running", "building", "renditions", "precision", "questions"},
    {"cutting"},
    {"replicated"},
    {"evaluation", "comparison", "merging", "showing"},
    {"strength_curves", "scaling", "sequences", "paper_tables", "reports", "leaderboard", "sweeping"},
    {"tracking"},
    {"training", "doctor", "viewing"},
    {"demo"},
    {"cli"},
    {"__main__"},
]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}


@functools.cache
def _modules():
    """List the modules of the package but the facade, each with its file."""
    found = {path.relative_to(PACKAGE).with_suffix("").parts: path for path in sorted(PACKAGE.rglob("*.py"))}
    del found[("__init__",)]
    return [(".".join(parts[:-1] if parts[-1] == "__init__" else parts), path) for parts, path in found.items()]


def _imports(path):
    """Yield the modules of the package that a file imports, at its top or within its functions."""
    names = {name for name, _ in _modules()}
    for node in ast.walk(ast.parse(path.read_text())):
        found = []
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in found:
            inner = name.removeprefix("oodometer.")
            if name.startswith("oodometer."):
                yield inner if inner in names else inner.rpartition(".")[0]


def test_every_module_has_a_layer():
    assert {name.split(".")[0] for name, _ in _modules()} == set(RANK)


def test_imports_point_downward():
    upward = [
        f"{name} imports {imported}"
        for name, path in _modules()
        for imported in _imports(path)
        if imported
        and imported.split(".")[0] != name.split(".")[0]
        and RANK[imported.split(".")[0]] >= RANK[name.split(".")[0]]
    ]
    assert not upward


def test_no_module_imports_itself_by_a_detour():
    graph = {name: {i for i in _imports(path) if i and i != name} for name, path in _modules()}

    def reached(start):
        found, left = set(), [start]
        while left:
            new = graph.get(left.pop(), set()) - found
            found |= new
            left += new
        return found

    # A folder's own __init__ imports its files, and they may import their siblings but not it.
    assert not [name for name in graph if name in reached(name)]


def test_frameworks_are_imported_by_their_adapter_alone():
    on_torch = {
        "models.torch",
        "models.demo",
        "models.huggingface",
        "models.clip",
        "datasets.torch",
        "training.undisturbed",
    }
    adapters = {
        "torch": on_torch,
        "torchvision": {"models.torchvision"},
        "timm": {"models.timm"},
        "transformers": {"models.huggingface"},
        "open_clip": {"models.clip"},
        "onnxruntime": {"models.onnx"},
        "keras": {"models.keras"},
        "tensorflow": {"models.keras"},
        "efficientnet_lite_pytorch": {"models.demo"},
        "tensorboardX": {"tracking.tensorboard"},
        "wandb": {"tracking.wandb"},
        "mlflow": {"tracking.mlflow"},
        "starlette": {"viewing.app", "viewing.pages"},
        "uvicorn": {"viewing.serving"},
        "lightning": {"training.lightning"},
        "ray": {"scaling.cluster", "scaling.replicas"},
        "fsspec": {"storage"},
        "foolbox": set(),
        "jax": set(),
    }
    guilty = []
    for name, path in _modules():
        for node in ast.walk(ast.parse(path.read_text())):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            frameworks = {n.split(".")[0] for n in names} & set(adapters)
            guilty += [f"{name} imports {framework}" for framework in frameworks if name not in adapters[framework]]
    assert not guilty


def test_the_facade_is_its_all():
    assert oodometer.__all__ == sorted(oodometer.__all__)
    assert dir(oodometer) == oodometer.__all__
    for name in oodometer.__all__:
        assert getattr(oodometer, name) is not None
    assert callable(oodometer.evaluate)


def test_a_function_wins_over_the_module_that_holds_it():
    script = "import oodometer.cli, oodometer.evaluation, oodometer; print(callable(oodometer.evaluate))"
    assert _python(script) == "True"


def test_importing_the_package_is_light():
    heavy = ["torch", "numba", "cv2", "scipy", "pyarrow", "rich", "click", "jinja2", "PIL", "foolbox", "requests"]
    script = f"import sys, oodometer; print([n for n in {heavy} if n in sys.modules])"
    assert _python(script) == "[]"


def test_an_unknown_name_is_an_attribute_error():
    assert not hasattr(oodometer, "corupt")


def _python(script):
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120
    ).stdout.strip()

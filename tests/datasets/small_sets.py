"""Small data sets in every format, made from the bytes of image files."""

import io
import json
import tarfile

import numpy as np
import PIL.Image
import pyarrow as pa
import pyarrow.parquet as pq

FISH, SHARK, ACORN = "n01443537", "n01484850", "n12267677"
INDEX = {FISH: 1, SHARK: 2, ACORN: 988}


def picture(number, size=(8, 6)):
    """Return a picture that tells its number by its colour."""
    return PIL.Image.new("RGB", size, (number % 256, number // 256, 7))


def encoded(image, kind="PNG", **options):
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def numbered(*names):
    """Return a file's bytes for each name, of the picture with the name's place as its number."""
    return {name: encoded(picture(number)) for number, name in enumerate(names)}


def write_folder(root, files):
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    return root


def write_tar(path, files):
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return path


def _table(files):
    """Lay images out as Hugging Face documents it: a struct of bytes and path, and the features in the metadata."""
    classes = sorted({name.split("/")[0] for name in files})
    features = {"image": {"_type": "Image"}, "label": {"_type": "ClassLabel", "names": classes}}
    rows = [{"bytes": content, "path": name} for name, content in files.items()]
    image = pa.array(rows, pa.struct([("bytes", pa.binary()), ("path", pa.string())]))
    label = pa.array([classes.index(name.split("/")[0]) for name in files], pa.int64())
    table = pa.table({"image": image, "label": label})
    return table.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})


def write_parquet(path, files, rows=2):
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(_table(files), path, row_group_size=rows)
    return path


def write_arrow(root, files):
    root.mkdir(parents=True)
    table = _table(files)
    arrow = str(root / "data-00000-of-00001.arrow")
    with pa.OSFile(arrow, "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=2)
    (root / "state.json").write_text(json.dumps({"_data_files": [{"filename": "data-00000-of-00001.arrow"}]}))
    (root / "dataset_info.json").write_text("{}")
    return root


WRITERS = {
    "folder": lambda root, files: write_folder(root / "val", files),
    "webdataset": lambda root, files: write_tar(root / "val.tar", files),
    "parquet": lambda root, files: write_parquet(root / "val.parquet", files),
    "huggingface": lambda root, files: write_arrow(root / "val", files),
}
"""For each format that holds image files as they are, a function that writes it below a folder and returns the path."""


def write_npy(root, images, labels=None, names=("images.npy", "labels.npy")):
    root.mkdir(parents=True, exist_ok=True)
    np.save(root / names[0], images)
    if labels is not None:
        np.save(root / names[1], np.asarray(labels))
    return root


def write_cells(root, cells, names):
    """Write a corruption tree: in every cell the same names, in each a picture that tells cell and name."""
    for place, cell in enumerate(cells):
        write_folder(root / cell, {name: encoded(picture(100 * place + n)) for n, name in enumerate(names)})
    return root

"""Small sane data sets of every kind, made of pictures that have structure and colour."""

import io
import json
import tarfile

import numpy as np
import PIL.Image

from oodometer.datasets import imagenet1k, imagenet_a, imagenet_r
from oodometer.datasets.layout import positions
from oodometer.families import SEVERITIES

CLASSES = ("n01440764", "n01443537")
CORRUPTIONS = ("gaussian_noise", "fog")
SIDE = 24


def picture(*key, side=SIDE, strength=0.0):
    """Return a picture that depends on a key, as uint8; with noise on it that grows with the strength."""
    rng = np.random.default_rng([abs(hash_of(part)) for part in key])
    small = rng.integers(40, 216, (4, 4, 3)).astype(np.uint8)
    smooth = np.asarray(PIL.Image.fromarray(small).resize((side, side), PIL.Image.Resampling.BICUBIC))
    noise = np.random.default_rng(int(strength * 1000) + 1).normal(0, 8 * strength, smooth.shape)
    return np.clip(smooth + noise, 0, 255).astype(np.uint8)


def hash_of(part):
    return part if isinstance(part, int) else int.from_bytes(str(part).encode()[-7:], "big")


def write(path, pixels, kind="JPEG"):
    path.parent.mkdir(parents=True, exist_ok=True)
    PIL.Image.fromarray(pixels).save(path, kind, quality=85)


def encoded(pixels, kind="JPEG"):
    buffer = io.BytesIO()
    PIL.Image.fromarray(pixels).save(buffer, kind, quality=85)
    return buffer.getvalue()


def folder(root, classes=CLASSES, images=3, name="{}.JPEG", kind="JPEG"):
    for wnid in classes:
        for number in range(images):
            write(root / wnid / name.format(number), picture(wnid, number), kind)
    return root


def cells(root, corruptions=CORRUPTIONS, classes=CLASSES, images=5, clean=True, side=SIDE):
    """Write a corruption tree with clean crops beside it: 10 images a cell, noise that grows with the severity."""
    for wnid in classes:
        for number in range(images):
            if clean:
                write(root / "clean" / wnid / f"{number}.JPEG", picture(wnid, number, side=side))
            for place, corruption in enumerate(corruptions):
                for severity in SEVERITIES:
                    pixels = picture(wnid, number, side=side, strength=severity + place / 10)
                    write(root / corruption / str(severity) / wnid / f"{number}.JPEG", pixels)
    return root


def tiny(root, corruptions=("fog", "frost"), severities=(1, 2)):
    """Write a tree like Tiny-ImageNet-C, of which all images are one picture with another tail, to be quick."""
    content = encoded(picture("tiny", side=64))
    for corruption in corruptions:
        for severity in severities:
            for wnid in imagenet1k().classes[:200]:
                path = root / corruption / str(severity) / wnid / "test_0.JPEG"
                path.parent.mkdir(parents=True)
                path.write_bytes(content + f"{corruption}{severity}{wnid}".encode())
    return root


def renditions(root):
    return folder(root, [*positions(imagenet_r())][:3], name="art_{}.jpg")


def adversarial(root):
    return folder(root / "imagenet-a", [*positions(imagenet_a())][:3], name="0.00{}_x.jpg")


def v2(root):
    return folder(root / "imagenetv2-top-images-format-val", ("0", "7", "999"), name="{}.jpeg")


def sketch(root):
    return folder(root, name="sketch_{}.JPEG")


def own(root):
    return folder(root, ("cat", "dog"), name="{}.png", kind="PNG")


def flat(root):
    for number in range(3):
        write(root / f"{number}.JPEG", picture("flat", number))
    return root


def image(root):
    write(root / "one.png", picture("one"), "PNG")
    return root / "one.png"


def cifar(root, classes=10, images=20, corruptions=CORRUPTIONS):
    root.mkdir(parents=True)
    for place, corruption in enumerate(corruptions):
        rows = [
            picture("cifar", number, side=32, strength=severity + place / 10)
            for severity in SEVERITIES
            for number in range(images)
        ]
        np.save(root / f"{corruption}.npy", np.stack(rows))
    labels = np.arange(images) % classes
    labels[0] = classes - 1
    np.save(root / "labels.npy", np.tile(labels, 5))
    return root


def cifar100(root):
    return cifar(root, classes=100)


def pair(root):
    root.mkdir(parents=True)
    np.save(root / "images.npy", np.stack([picture("pair", number, side=32) for number in range(6)]))
    np.save(root / "labels.npy", np.arange(6) % 3)
    return root


def shards(root):
    root.mkdir(parents=True)
    for shard in range(2):
        with tarfile.open(root / f"{shard:03d}.tar", "w") as tar:
            for number in range(3):
                for name, content in (
                    (f"{shard}{number}.jpg", encoded(picture("tar", shard, number))),
                    (f"{shard}{number}.cls", str(number).encode()),
                ):
                    member = tarfile.TarInfo(name)
                    member.size = len(content)
                    tar.addfile(member, io.BytesIO(content))
    return root


def table(name, number=4):
    import pyarrow as pa

    rows = [{"bytes": encoded(picture(name, n)), "path": f"{n}.jpg"} for n in range(number)]
    features = {
        "image": {"_type": "Image"},
        "label": {"_type": "ClassLabel", "names": ["cat", "dog"]},
    }
    made = pa.table({"image": rows, "label": [n % 2 for n in range(number)]})
    return made.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})


def parquet(root):
    import pyarrow.parquet

    (root / "data").mkdir(parents=True)
    for split in ("train", "test"):
        for number in range(2):
            path = root / "data" / f"{split}-{number:05d}-of-00002.parquet"
            pyarrow.parquet.write_table(table(f"{split}{number}"), path)
    return root


def huggingface(root):
    import pyarrow as pa
    import pyarrow.ipc

    root.mkdir(parents=True)
    (root / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    for split in ("train", "test"):
        (root / split).mkdir()
        made = table(split)
        with (
            pa.OSFile(str(root / split / "data-00000-of-00001.arrow"), "wb") as file,
            pa.ipc.new_stream(file, made.schema) as stream,
        ):
            stream.write_table(made)
        (root / split / "state.json").write_text('{"_data_files": [{"filename": "data-00000-of-00001.arrow"}]}')
        (root / split / "dataset_info.json").write_text("{}")
    return root


KINDS = {
    "folder": folder,
    "flat": flat,
    "image": image,
    "imagenet-c": cells,
    "tiny-imagenet-c": tiny,
    "imagenet-r": renditions,
    "imagenet-a": adversarial,
    "imagenet-v2": v2,
    "imagenet-sketch": sketch,
    "cifar10-c": cifar,
    "cifar100-c": cifar100,
    "npy": pair,
    "webdataset": shards,
    "parquet": parquet,
    "huggingface": huggingface,
}

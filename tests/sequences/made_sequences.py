"""Videos and a classifier whose answers can be counted by hand."""

import numpy as np
import PIL.Image

STEP = 20
"""How many levels of gray one class spans."""


class Levels:
    """Names the class of a gray frame by its brightness: class k from 20 k on; the others are the farther the worse."""

    normalization = None

    def __init__(self, classes=10, name="levels"):
        self.classes = classes
        self.name = self.fingerprint = name
        self.seen = []

    def predict(self, images):
        self.seen.append(images.copy())
        found = images.reshape(len(images), -1).mean(axis=1) // STEP
        # Of two equally far, the lower class comes first, as equal logits would have it.
        return -np.abs(np.arange(self.classes) - found[:, None])


def frame(level, side=8):
    return np.full((side, side, 3), STEP * level + STEP // 2, dtype=np.uint8)


def write_video(folder, levels, side=8):
    """Write frames by their classes."""
    folder.mkdir(parents=True)
    for number, level in enumerate(levels):
        PIL.Image.fromarray(frame(level, side)).save(folder / f"{number}.png")


def write_set(root, videos, side=8):
    """Write {perturbation: {video: classes of its frames}}."""
    for perturbation, of_it in videos.items():
        for name, levels in of_it.items():
            write_video(root / perturbation / name, levels, side)
    return root


def write_mp4(path, frames, codec="libx264", options=None):
    """Write a video file of RGB frames."""
    import av

    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=10)
        stream.height, stream.width = frames[0].shape[:2]
        stream.pix_fmt = "yuv420p"
        stream.options = options or {}
        for one in frames:
            for packet in stream.encode(av.VideoFrame.from_ndarray(one, format="rgb24")):
                container.mux(packet)
        for packet in stream.encode():
            container.mux(packet)

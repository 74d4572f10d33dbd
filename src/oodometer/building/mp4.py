"""One video to the bytes of an MP4 file, H.264 by x264 (with PyAV), as ImageNet-P is published.

x264 loses detail: at its quality 20 a frame is a few levels away from what it was made of. The bytes depend on its
version, which the manifest names by that of PyAV, and neither on the processor nor on the number of threads.
"""

from __future__ import annotations

import io

from oodometer.datasets.videos import require_pyav
from oodometer.types import Images

__all__ = ["encode_mp4"]

# Without the last, videos that are made at once on several threads differ by a few bytes from run to run.
_OPTIONS = {"crf": "20", "preset": "medium", "threads": "1", "x264-params": "cpu-independent=1"}


def encode_mp4(frames: Images) -> bytes:
    """Encode the frames of a video, uint8, frames x height x width x 3, of any sides: colour at full resolution."""
    av = require_pyav("Writing")
    buffer = io.BytesIO()
    with av.open(buffer, "w", format="mp4", options={"fflags": "+bitexact"}) as container:
        stream = container.add_stream("libx264", rate=1, options=_OPTIONS)
        stream.height, stream.width = frames.shape[1:3]
        stream.pix_fmt = "yuv444p"
        stream.codec_context.thread_count = 1
        for frame in frames:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
        container.mux(stream.encode())
    return buffer.getvalue()

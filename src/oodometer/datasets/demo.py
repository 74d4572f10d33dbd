"""The built-in data of ``oodometer demo``: real photographs and real drawings that come with installed packages.

Both packages are found without being imported, because importing one of them loads frameworks.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import PIL.Image
import PIL.ImageDraw
import PIL.ImageFont

from oodometer.datasets.folder import ImageFolder
from oodometer.datasets.label_spaces import imagenet1k, imagenet_r
from oodometer.errors import MissingDataError
from oodometer.types import LabelSpace, Sample

__all__ = ["EMOJI", "EmojiDrawings", "demo_photographs", "demo_renditions"]

_SIDE = 256
_FONT_SIZE = 160  # the widest drawing then leaves a margin within the central 224 pixels

EMOJI: dict[str, str] = {
    "n01770393": "\N{SCORPION}",
    "n01806143": "\N{PEACOCK}",
    "n01855672": "\U0001fabf",  # goose
    "n01882714": "\N{KOALA}",
    "n01910747": "\U0001fabc",  # jellyfish
    "n01944390": "\N{SNAIL}",
    "n01983481": "\N{LOBSTER}",  # American lobster: with claws
    "n02007558": "\N{FLAMINGO}",
    "n02114367": "\N{WOLF FACE}",  # timber wolf, which is the gray wolf; CLDR: wolf
    "n02119022": "\N{FOX FACE}",  # red fox; CLDR: fox
    "n02128385": "\N{LEOPARD}",
    "n02129165": "\N{LION FACE}",  # CLDR: lion
    "n02129604": "\N{TIGER}",
    "n02165456": "\N{LADY BEETLE}",  # ladybug
    "n02190166": "\N{FLY}",
    "n02206856": "\N{HONEYBEE}",
    "n02219486": "\N{ANT}",
    "n02233338": "\N{COCKROACH}",
    "n02363005": "\N{BEAVER}",
    "n02391049": "\N{ZEBRA FACE}",  # CLDR: zebra
    "n02395406": "\N{PIG}",  # hog
    "n02398521": "\N{HIPPOPOTAMUS}",
    "n02410509": "\N{BISON}",
    "n02437616": "\N{LLAMA}",
    "n02445715": "\N{SKUNK}",
    "n02447366": "\N{BADGER}",
    "n02480495": "\N{ORANGUTAN}",
    "n02480855": "\N{GORILLA}",
    "n02510455": "\N{PANDA FACE}",  # giant panda; CLDR: panda
    "n02655020": "\N{BLOWFISH}",  # puffer
    "n02672831": "\N{ACCORDION}",
    "n02701002": "\N{AMBULANCE}",
    "n02769748": "\N{SCHOOL SATCHEL}",  # CLDR: backpack
    "n02802426": "\N{BASKETBALL AND HOOP}",  # CLDR: basketball; only the ball is drawn
    "n02808440": "\N{BATHTUB}",
    "n02906734": "\N{BROOM}",
    "n02909870": "\N{BUCKET}",
    "n02948072": "\N{CANDLE}",
    "n02951358": "\N{CANOE}",
    "n02980441": "\N{EUROPEAN CASTLE}",  # CLDR: castle
    "n02992529": "\N{MOBILE PHONE}",  # cellular telephone
    "n03272010": "\N{GUITAR}",  # drawn as an electric guitar in this font
    "n03345487": "\N{FIRE ENGINE}",
    "n03481172": "\N{HAMMER}",
    "n03602883": "\N{JOYSTICK}",
    "n03630383": "\N{LAB COAT}",
    "n03676483": "\N{LIPSTICK}",
    "n03710193": "\N{CLOSED MAILBOX WITH RAISED FLAG}",
    "n03888257": "\N{PARACHUTE}",
    "n03930630": "\N{PICKUP TRUCK}",
    "n04118538": "\N{RUGBY FOOTBALL}",
    "n04133789": "\N{THONG SANDAL}",
    "n04141076": "\N{SAXOPHONE}",
    "n04192698": "\N{SHIELD}",
    "n04254680": "\N{SOCCER BALL}",
    "n04275548": "\N{SPIDER WEB}",
    "n04310018": "\N{STEAM LOCOMOTIVE}",  # CLDR: locomotive
    "n04465501": "\N{TRACTOR}",
    "n04536866": "\N{VIOLIN}",
    "n07614500": "\N{ICE CREAM}",
    "n07693725": "\N{BAGEL}",
    "n07695742": "\N{PRETZEL}",
    "n07697537": "\N{HOT DOG}",
    "n07714990": "\N{BROCCOLI}",
    "n07718472": "\N{CUCUMBER}",
    "n07720875": "\N{BELL PEPPER}",
    "n07734744": "\N{MUSHROOM}",
    "n07745940": "\N{STRAWBERRY}",
    "n07749582": "\N{LEMON}",
    "n07753275": "\N{PINEAPPLE}",
    "n07753592": "\N{BANANA}",
    "n07873807": "\N{SLICE OF PIZZA}",  # CLDR: pizza
    "n07880968": "\N{BURRITO}",
    "n09472597": "\N{VOLCANO}",
}
"""The emoji that truly depicts a class of ImageNet-R, by wnid; the name is Unicode's, the comment CLDR's if it differs.

Chosen by hand from all emoji and from the drawings of this font, before any model saw them. Left out: emoji of a kind
wider than the class (shark, snake, spider, eagle, penguin, whale, frog, parrot, duck, butterfly, rabbit, cat, dog,
poodle of either size, apple in black and white), near relations (hedgehog, cricket, seal, chipmunk, axe, amphora),
and parts (a carousel's horse, a hat on a face).
"""


@dataclass
class EmojiDrawings:
    """Drawings of ImageNet-R classes, as a ``Dataset``: black glyphs of an outline font, drawn when they are read.

    The size of each sample is that of the font file, the only file behind it, so that another release of the font is
    another data set.
    """

    font: Path
    name: str
    label_space: LabelSpace
    samples: Sequence[Sample]

    def read(self, sample: Sample) -> PIL.Image.Image:
        """Draw one emoji in black on white, centred, 256 x 256 pixels, RGB; thread-safe.

        Raises
        ------
        MissingDataError
            If the font has gone.
        """
        glyph = EMOJI[sample.id.partition("/")[0]]
        try:
            # The basic layout, because whether the other one is there differs between installations of Pillow.
            font = PIL.ImageFont.truetype(self.font, _FONT_SIZE, layout_engine=PIL.ImageFont.Layout.BASIC)
        except OSError as error:
            raise _missing("font", self.font.name) from error
        ink = PIL.Image.new("L", (2 * _SIDE, 2 * _SIDE))
        PIL.ImageDraw.Draw(ink).text((_SIDE, _SIDE), glyph, fill=255, font=font, anchor="mm")
        left, top, right, bottom = ink.getbbox() or (0, 0, 0, 0)
        corner = ((_SIDE - right + left) // 2, (_SIDE - bottom + top) // 2)
        picture = PIL.Image.new("RGB", (_SIDE, _SIDE), "white")
        picture.paste("black", corner, ink.crop((left, top, right, bottom)))
        return picture


def demo_photographs() -> ImageFolder:
    """Return the 20 photographs of the ImageNet validation set that the package foolbox carries.

    Returns
    -------
    ImageFolder
        Over ImageNet-1k; the ids are the names of the files, such as ``imagenet_00_243.jpg`` with the class last.

    Raises
    ------
    MissingDataError
        If foolbox is not installed, or has no such photographs.
    """
    data = _package("foolbox") / "data"
    files = sorted(data.glob("imagenet_*_*.jpg"))
    if not files:
        raise _missing("photographs", "foolbox/data/imagenet_*.jpg")
    samples = tuple(Sample(file.name, int(file.stem.rpartition("_")[2]), file.stat().st_size) for file in files)
    return ImageFolder(data, "demo-photographs", imagenet1k(), samples)


def demo_renditions() -> EmojiDrawings:
    """Return drawings of ImageNet-R classes: one emoji each, from the font Noto Emoji (OFL) in manimgx-fonts.

    Returns
    -------
    EmojiDrawings
        Over ImageNet-R's 200 classes; ids such as ``n01770393/emoji_u1f982.png``, though no such file exists.

    Raises
    ------
    MissingDataError
        If manimgx-fonts is not installed, or has no such font.
    """
    font = _package("manimgx_fonts") / "NotoEmoji[wght].ttf"
    if not font.is_file():
        raise _missing("font", font.name)
    space = imagenet_r()
    size = font.stat().st_size
    samples = tuple(
        Sample(f"{wnid}/emoji_u{ord(glyph):x}.png", space.classes.index(wnid), size)
        for wnid, glyph in sorted(EMOJI.items())
    )
    return EmojiDrawings(font, "demo-renditions", space, samples)


def _package(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise _missing("package", name)
    return Path(spec.origin).parent


def _missing(kind: str, what: str) -> MissingDataError:
    return MissingDataError(f"The demo needs the {kind} {what}, which is not here. Run: pip install 'oodometer[demo]'")

"""The handout's pictures: readable by anybody, asking nothing of the network, and all of them shown."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

HANDOUT = Path(__file__).parents[2] / "handout"
PICTURES = sorted((HANDOUT / "figures").glob("*.svg"))
each_picture = pytest.mark.parametrize("picture", PICTURES, ids=lambda path: path.stem)


@each_picture
def test_a_picture_has_a_title_and_a_description(picture: Path) -> None:
    root = ElementTree.parse(picture).getroot()
    told = [element.text for tag in ("title", "desc") for element in root.iter(f"{{http://www.w3.org/2000/svg}}{tag}")]
    assert [bool(text) for text in told] == [True, True]


@each_picture
def test_a_picture_follows_the_readers_light_or_dark_setting(picture: Path) -> None:
    assert "prefers-color-scheme: dark" in picture.read_text()


@each_picture
def test_a_picture_asks_for_nothing_from_elsewhere(picture: Path) -> None:
    assert re.findall(r"(?:href|src|url\(|@import)[^ ]*", picture.read_text()) == []


@each_picture
def test_all_of_a_picture_lies_within_its_frame(picture: Path) -> None:
    root = ElementTree.parse(picture).getroot()
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    for element in root.iter():
        x, y = (float(element.attrib.get(name, 0)) for name in ("x", "y"))
        wide, high = (float(element.attrib.get(name, 0)) for name in ("width", "height"))
        assert 0 <= x <= x + wide <= width
        assert 0 <= y <= y + high <= height


def test_the_page_shows_every_picture_with_words_for_it() -> None:
    shown = re.findall(r"!\[([^\]]+)\]\(figures/(\w+)\.svg\)", (HANDOUT / "README.md").read_text())
    assert sorted(name for _, name in shown) == [picture.stem for picture in PICTURES]

"""A picture of matplotlib's as SVG inside a page: no style of its own, no name twice, ink in the page's colours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree.ElementTree import Element, register_namespace, tostring

from defusedxml.ElementTree import fromstring
from markupsafe import Markup

_SVG = "http://www.w3.org/2000/svg"
_LINK = "{http://www.w3.org/1999/xlink}href"
_DROPPED = frozenset({"metadata", "style", "title"})
_INK = {"#000000": "currentColor", "black": "currentColor", "#0b62a4": "var(--mark)"}
"""Colours of the drawing and what they become, so that it can be read on a dark page too."""

_FONT = re.compile(r"(\d+(?:\.\d+)?)px")


def inline(svg: bytes, name: str) -> Markup:
    """The drawing as an element of the page; ids in it begin with `name`.

    A page that allows no style beside its own sheet refuses `style` attributes and elements: what they say becomes
    attributes of the presentation.
    """
    root = fromstring(svg)
    register_namespace("", _SVG)
    used = set(re.findall(r"#([\w-]+)", " ".join(_references(root))))
    _clean(root, name, used)
    for attribute in ("width", "height"):
        root.attrib.pop(attribute, None)
    root.set("aria-hidden", "true")
    root.set("class", "plot")
    text = tostring(root, encoding="unicode").replace(f' xmlns="{_SVG}"', "", 1)
    return Markup(text)  # noqa: S704 - serialised from a tree in which all text is escaped


def _references(root: Element) -> Iterator[str]:
    for element in root.iter():
        for key, value in element.attrib.items():
            if key in (_LINK, "href", "clip-path") or "url(" in value:
                yield value


def _clean(element: Element, name: str, used: set[str]) -> None:
    for child in list(element):
        if str(child.tag).rpartition("}")[2] in _DROPPED:
            element.remove(child)
        else:
            _clean(child, name, used)
    for key, value in _spelled(element.attrib.pop("style", "")):
        element.set(key, _INK.get(value, value))
    if "text" in str(element.tag) and "fill" not in element.attrib:
        element.set("fill", "currentColor")
    own = element.attrib.pop("id", "")
    if own in used:
        element.set("id", f"{name}-{own}")
    for key, value in list(element.attrib.items()):
        if key == _LINK:
            del element.attrib[key]
            element.set("href", f"#{name}-{value[1:]}")
        elif "url(#" in value:
            element.set(key, value.replace("url(#", f"url(#{name}-"))


def _spelled(style: str) -> Iterator[tuple[str, str]]:
    """Declarations as attributes; of a font its size alone, the rest is the page's."""
    for declaration in style.split(";"):
        key, _, value = (part.strip() for part in declaration.partition(":"))
        if key == "font":
            size = _FONT.search(value)
            if size:
                yield "font-size", size[1]
        elif key == "font-size" or (key and not key.startswith("font-")):
            yield key, value

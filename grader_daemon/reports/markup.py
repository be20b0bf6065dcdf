"""Elements of a page. All text enters the tree here and is cleaned here, and the serialiser escapes it."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from grader_daemon.domain.text import clean


def element(tag: str, *children: Element | str, **attributes: str | float) -> Element:
    """Make an element of text and elements, in order.

    Attributes are named as in Python: ``class_``, ``aria_hidden``; numbers are written with at most two decimals.
    """
    made = Element(tag, {key.rstrip("_").replace("_", "-"): _text(value) for key, value in attributes.items()})
    for child in children:
        if isinstance(child, str):
            _append_text(made, clean(child))
        else:
            made.append(child)
    return made


def _append_text(made: Element, text: str) -> None:
    if len(made):
        made[-1].tail = (made[-1].tail or "") + text
    else:
        made.text = (made.text or "") + text


def _text(value: str | float) -> str:
    return clean(value) if isinstance(value, str) else f"{round(value, 2):g}"

"""A person at a page, whose clicks and keys are counted."""

from __future__ import annotations

from typing import Final

from playwright.sync_api import Locator, Page, expect

_DEADLINE_MS: Final = 10_000


class Hands:
    """Clicks and keys in a tab; words that are typed without a pause count as one."""

    def __init__(self, tab: Page) -> None:
        """Begin to count at a page that is open."""
        self.tab = tab
        self.used = 0

    def click(self, what: Locator) -> None:
        """Click something that is seen without scrolling."""
        self.used += 1
        expect(what).to_be_in_viewport(timeout=_DEADLINE_MS)
        what.click()

    def press(self, key: str) -> None:
        """Press a key, or several at once."""
        self.used += 1
        self.tab.keyboard.press(key)

    def type(self, words: str) -> None:
        """Type words."""
        self.used += 1
        self.tab.keyboard.type(words)


def see(*several: Locator) -> None:
    """Assert that each is on the screen, all of it."""
    for each in several:
        expect(each).to_be_in_viewport(ratio=1, timeout=_DEADLINE_MS)

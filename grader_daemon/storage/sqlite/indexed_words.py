"""Words of a text as the search indexes have them. Apart from these: an agent waits for what is imported here."""

from __future__ import annotations

from typing import Final

import apsw

TOKENIZER: Final = "unicode61"
"""How the index of what was asked for finds words."""


def index_words(connection: apsw.Connection, text: str) -> list[str]:
    """Return the words of a text in its order, each as often as it stands there: in small letters, without accents."""
    tokenizer = connection.fts5_tokenizer(TOKENIZER, [])
    spoken = text.encode("utf-8", "replace")
    words = tokenizer(spoken, apsw.FTS5_TOKENIZE_QUERY, None, include_offsets=False, include_colocated=False)
    return [str(word) for word in words]

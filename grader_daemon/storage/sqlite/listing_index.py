"""Search index of the list of sessions: rows of `session_facets`, made from those of grades."""

from __future__ import annotations

from typing import Final

from grader_daemon.domain.group_names import NAME_CHARACTERS
from grader_daemon.domain.wording import BAND_BYTES, BANDS
from grader_daemon.storage.sqlite.database import listed

_DETAILED: Final = "session_grades AS g JOIN session_details AS d ON d.session_id = g.session_id"
_BAND: Final = "band.value || hex(substr({wording}, 1 + " + str(BAND_BYTES) + " * band.value, " + str(BAND_BYTES) + "))"
_EACH_BAND: Final = f"json_each('{listed(list(range(BANDS)))}') AS band"

_TOOLS: Final = (
    f"SELECT 'tool', substr(used.value ->> 0, 1, {NAME_CHARACTERS}), g.id FROM {_DETAILED}"
    " JOIN json_each(d.tools) AS used WHERE used.value ->> 0 IS NOT NULL"
)
_ERRORS: Final = (
    "SELECT 'error', f.{0}, g.id FROM session_grades AS g"
    " JOIN session_failures AS f ON f.session_id = g.session_id WHERE f.kind <> 'probe' AND f.{0} IS NOT NULL"
)
_WORDINGS: Final = (
    f"SELECT 'wording', {_BAND.format(wording='d.wording')}, g.id FROM {_DETAILED}"
    f" JOIN {_EACH_BAND} WHERE d.wording IS NOT NULL"
)
FACETS: Final = (_TOOLS, _ERRORS.format("category"), _ERRORS.format("subcategory"), _WORDINGS)

BANDS_OF: Final = f"SELECT {_BAND.format(wording='?')} FROM {_EACH_BAND}"
"""The values that a wording has: of each band its number and what stands in it."""

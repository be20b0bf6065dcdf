"""Sessions written for browsers: what would run, load, lie or break a layout if it were shown as more than text."""

from __future__ import annotations

import json
import os
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

from tests.strategies import document, json_answer, json_round, json_user

AWAY: Final = "https://elsewhere.example"
_JS: Final = "window.struck=1"
_LONG: Final = 40_000

TEXTS: Final[dict[str, str]] = {
    "script": f"<script>{_JS}</script>",
    "script-behind-everything": f"\"'></title></textarea></style></template></code></pre><script>{_JS}</script>",
    "handler": f'<img src=x onerror="{_JS}"> " autofocus onfocus="{_JS}" \' onmouseover=\'{_JS}',
    "svg": f"<svg onload={_JS}><script>{_JS}</script><a xlink:href='javascript:{_JS}'><text>a</text></a></svg>",
    "frame": f'<iframe srcdoc="<script>top.struck=1</script>"></iframe><object data="data:text/html,{_JS}"></object>',
    "links": f'[a](javascript:{_JS}) <a href="javascript:{_JS}">a</a> <a href="{AWAY}">b</a> <javascript:{_JS}>',
    "what-loads": f"![a]({AWAY}/a.png) <img src={AWAY}/b.png> {AWAY}/c <link rel=icon href={AWAY}>",
    "style": f"<style>*{{display:none!important;background:url({AWAY}/d)}}</style><p style='position:fixed;inset:0'>",
    "another-page": f"<base href={AWAY}/><meta http-equiv=refresh content='0;url={AWAY}'>",
    "form": f'</form><form action="{AWAY}"><input name=form_token autofocus><button>Sign in again</button></form>',
    "template-braces": "{{ 7 * 7 }} {% for a in ().__class__.__mro__ %} ${7*7} #{7*7} {# <%= 7*7 %> {{ form_token() }}",
    "entities": f"&lt;script&gt;{_JS}&lt;/script&gt; &#60;script&#62; %3Cscript%3E \\u003cscript\\u003e <!-- ]]> --!>",
    "fence": f'```html"><script>{_JS}</script>\n<script>{_JS}</script>\n```\n~~~\n</code></pre><script>{_JS}</script>',
    "diff": f"--- a/<script>\n+++ b/{AWAY}\n@@ -1 +1 @@\n-<b>old</b>\n+<script>{_JS}</script>\n\\ No newline",
    "table": f"| <script>{_JS}</script> | b |\n|---|---|\n" + f"| <img src=x onerror={_JS}> | {'w' * 300} |\n" * 40,
    "wide-table": "|" + " column |" * 300 + "\n|" + "---|" * 300 + "\n|" + " value |" * 300,
    "stream": f"a\n\nevent: grades\ndata: {{}}\n\nid: 99999999\nretry: 1\r\rdata: <script>{_JS}</script>\n\n",
    "json": '{"__proto__": {"struck": 1}, "constructor": {"prototype": {"struck": 1}}, "toString": 1}',
    "other-direction": "\u202egnp.exe \u2066isolated \u200fright \u061c \u202bعربي עברית \u2069 end",
    "controls": "\x1b[31m\x1b]0;title\x07\x9b2J\r\x08\x00\x7f\u2028\u2029\ufeff\ufff9 tab\tend\x0c",
    "marks": "Z" + "\u0301\u0489\u20dd" * 400 + " a" + "\u0300" * 2_000,
    "characters-of-many-parts": "\ufffe\uffff\U0010ffff 👩‍👩‍👧‍👦🏴󠁧󠁢󠁥󠁮󠁧󠁿" + "🧑🏽‍🚀" * 500,
    "one-word": "W" * _LONG,
    "many-lines": "\n" * 500 + "\n".join(f"{number}" for number in range(6_000)),
    "nested": ">" * 400 + " " + "- " * 400 + "#" * 50 + "*" * 2_000 + "[" * 2_000 + "`" * 999,
}
"""By a name for it."""

PLACES: Final = ("request", "answer", "failure", "call", "names", "everywhere")
COUNT: Final = len(TEXTS) * len(PLACES)


def write_hostile_sessions(folder: Path, *, until: datetime) -> None:
    """Write a session for each text in each place; the last one ended at `until`."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, (name, place) in enumerate((name, place) for name in TEXTS for place in PLACES):
        ended = until - timedelta(hours=number)
        path = folder / f"session_{name}_{place}.json"
        path.write_bytes(_session(TEXTS[name], place, f"{name}_{place}", ended))
        os.utime(path, (ended.timestamp(), ended.timestamp()))


def _session(text: str, place: str, session_id: str, ended: datetime) -> bytes:
    def at(*places: str, otherwise: str) -> str:
        return text if place in (*places, "everywhere") else otherwise

    tool = at("call", "names", otherwise="terminal")
    arguments = json.dumps({"command": at("call", otherwise="pytest -q"), at("call", otherwise="cwd"): "/"})
    denied = json.dumps({"output": at("failure", otherwise="Permission denied"), "exit_code": 1, "error": None})
    failed = json.dumps({"error": at("failure", otherwise="no such file")})
    talk: list[dict[str, Any]] = [
        json_user(at("request", otherwise="Fix the tests of the parser")),
        *json_round(denied, call_id="1", tool=tool, arguments=arguments),
        *json_round(failed, call_id="2", tool=tool, arguments=at("call", otherwise="{}")),
        *json_round(at("failure", otherwise="fine"), call_id="3", tool=tool),
        json_answer(at("answer", otherwise="Done, all tests pass now.")),
        {"role": at("names", otherwise="user"), "content": at("request", "answer", otherwise="No, it does not work")},
        json_answer(at("answer", otherwise="I could not do it.")),
    ]
    named = at("names", otherwise="")
    return document(
        talk,
        session_id=f"{session_id}{named}"[:200],
        model=named or "m",
        platform=named or "cli",
        system_prompt=at("names", otherwise="You are an agent."),
        session_start=(ended - timedelta(minutes=5)).replace(tzinfo=None).isoformat(),
        last_updated=ended.replace(tzinfo=None).isoformat(),
    )

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.sources.codex.code_mode import ScriptCall, calls_in
from tests.timing import is_done_within

PIECES = (
    *("tools.", "a", "b(", "const a=", "let [b] of ", "for (", ".map(", "=>", "'x'", "`${a}`", "[", "]", "{", "}", "("),
    *(")", ",", ":", ";", "+", "=", "...", "/", "1", '"', "\\", "\n", ".join(", "tools.a({b: a})", "['x', 'y']"),
)
LS = ScriptCall("exec_command", {"cmd": "ls"})
UNKNOWN = ScriptCall("exec_command", {})
UNKNOWN_PATCH = ScriptCall("apply_patch", {})


def patched(text: str) -> ScriptCall:
    return ScriptCall("apply_patch", {"input": text})


@pytest.mark.parametrize(
    ("code", "calls"),
    [
        pytest.param(
            'const r = await tools.exec_command({"cmd": "ls", "workdir": "a", "tty": true, "n": 30_000});\ntext(r);',
            [ScriptCall("exec_command", {"cmd": "ls", "workdir": "a", "tty": True, "n": 30_000})],
            id="command",
        ),
        pytest.param("tools.exec_command({cmd: 'ls',})", [LS], id="names-without-quotes"),
        pytest.param('const patch = "a\\nb";\nawait tools.apply_patch(patch);', [patched("a\nb")], id="constant"),
        pytest.param('let a = "a", b = a;\nvar c; tools.apply_patch(b)', [patched("a")], id="variables"),
        pytest.param('await tools.apply_patch("a", true)', [patched("a")], id="literal"),
        pytest.param("tools.get_goal()", [ScriptCall("get_goal", {})], id="nothing-given"),
        pytest.param(
            'const cmd = "ls"; Promise.all([tools.exec_command({cmd}), tools.exec_command({cmd, tty: false})]);',
            [LS, ScriptCall("exec_command", {"cmd": "ls", "tty": False})],
            id="several-and-shorthand",
        ),
        pytest.param(
            'tools.update_plan({plan: [{step: "a", status: "done"}], note: null})',
            [ScriptCall("update_plan", {"plan": [{"step": "a", "status": "done"}], "note": None})],
            id="plan",
        ),
        pytest.param(
            "text(await tools.apply_patch(await tools.read(x)))",
            [UNKNOWN_PATCH, ScriptCall("read", {})],
            id="call-within-a-call",
        ),
        pytest.param("cmds.map(c => tools.exec_command({...c}))", [UNKNOWN], id="list-that-is-made"),
        pytest.param("tools.exec_command({cmd: 'ls'", [UNKNOWN], id="cut"),
        pytest.param("tools.exec_command({cmd: 'ls'}.x)", [UNKNOWN], id="part-of-a-value"),
        pytest.param("const a = 'x'.trim(); tools.apply_patch(a)", [UNKNOWN_PATCH], id="constant-made"),
        pytest.param("const a = f(); tools.apply_patch(a)", [UNKNOWN_PATCH], id="constant-of-a-call"),
        pytest.param("// tools.a()\n/* tools.b() */ 'tools.c()'; `tools.d()`; /tools.e()[/\"]/g", [], id="no-code"),
        pytest.param("a / 2; /['\"]/.test(b); tools.exec_command({cmd: 'ls'})", [LS], id="patterns"),
        pytest.param("tools.exec_command({cmd: 'ls'}); '", [], id="text-without-end"),
        pytest.param("x".join(["tools.a();", "y" * 1_000_000]), [], id="too-long"),
        pytest.param("tools.a();" * 101, [], id="too-many"),
        pytest.param("tools.a(" + "[" * 30, [ScriptCall("a", {})], id="too-deep"),
        pytest.param("", [], id="empty"),
    ],
)
def test_calls_are_read_from_the_code(code: str, calls: list[ScriptCall]) -> None:
    assert calls_in(code) == calls


@pytest.mark.parametrize(
    "change",
    [
        *("a = b;", "a += b;", "a.push(b);", "a.b = c;", "for (const a of b) {", "const a = b;", "c.map(a => {"),
        *("c.map((b, a) => {", "for (const [a] of b) {"),
    ],
)
def test_a_variable_that_changes_is_not_known(change: str) -> None:
    assert calls_in(f"let a = 'x'; {change} tools.apply_patch(a)") == [UNKNOWN_PATCH]


@pytest.mark.parametrize("use", ["a == b;", "a.length;", "text(a);", "a.map(b);", "a.b == c;", "for (let i = 0;;) {}"])
def test_a_variable_that_is_looked_at_stays_known(use: str) -> None:
    assert calls_in(f"let a = 'x'; {use} tools.apply_patch(a)") == [patched("x")]


@pytest.mark.parametrize(
    "code",
    [
        "const cmds = ['ls', 'pwd'];\nawait Promise.all(cmds.map(cmd => tools.exec_command({cmd})));",
        "const rs = await Promise.all(['ls', 'pwd'].map(async (c, i) => tools.exec_command({cmd: c})));",
        "[['a', 'ls'], ['b', 'pwd']].forEach(([name, cmd]) => { text(tools.exec_command({cmd})) });",
        "for (const {cmd} of [{cmd: 'ls'}, {cmd: 'pwd'}]) { const r = await tools.exec_command({cmd}); }",
        "for (const a of ['ls', 'pwd']) { for (const b of [a]) { tools.exec_command({cmd: `${b}`}) } }",
    ],
)
def test_each_turn_of_a_loop_over_a_known_list_counts(code: str) -> None:
    assert calls_in(code) == [LS, ScriptCall("exec_command", {"cmd": "pwd"})]


@pytest.mark.parametrize(
    "code",
    [
        *(
            "for (const c of f()) { tools.exec_command({cmd: c}) }",
            "for (const c of ['a'].x) { tools.exec_command({c}) }",
        ),
        *("for (const c of ['a']) tools.exec_command({c});", "for (const c of 'ab') { tools.exec_command({c}) }"),
        *("for (const c in a) { tools.exec_command({c}) }", "for (const [c.d] of a) { tools.exec_command({c}) }"),
        *("for (;;) { tools.exec_command({}) }", "for (const 1 of a) { tools.exec_command({c}) }"),
        *(
            "['a'].map(f, tools.exec_command(c))",
            "['a'].map((c => tools.exec_command({c})",
            "a.map; tools.exec_command(a)",
        ),
        *("['a', f()].map(c => tools.exec_command({c}))", "[{}].map(([c]) => tools.exec_command({c}))"),
        *("[1].map(({c}) => tools.exec_command({c}))", "for (const c of ['a']) { tools.exec_command({d: c}.e)"),
    ],
)
def test_a_loop_over_what_is_not_known_is_read_once(code: str) -> None:
    assert calls_in(code) == [UNKNOWN]


def test_a_loop_of_very_many_turns_is_read_once() -> None:
    words = ", ".join(["'a'"] * 4_000)

    assert calls_in(f"const a = [{words}]; a.map(b => f(b, b, b, b)); a.map(c => tools.exec_command({{c}}))") == [
        UNKNOWN
    ]


def test_constants_that_double_make_no_long_text() -> None:
    doubled = "".join(f"const a{n + 1} = a{n} + a{n};" for n in range(60))

    calls = calls_in(f'const a0 = "{"x" * 100}";{doubled}tools.apply_patch(a60)')

    assert calls == [ScriptCall("apply_patch", {})]


@given(st.lists(st.sampled_from(PIECES), max_size=60))
def test_any_code_is_read_without_an_error(pieces: list[str]) -> None:
    assert len(calls_in("".join(pieces))) <= 100


def test_code_is_never_run() -> None:
    assert calls_in("__import__('os').abort(); tools.a(`${(() => { while (true) {} })()}`)") == [
        ScriptCall("a", {"input": "${(() => { while (true) {} })()}"})
    ]


@pytest.mark.parametrize(
    "code",
    [
        *(
            "const a=[",
            "tools.a(",
            "{",
            "tools.a({b:",
            "tools.a({b:[{",
            "const a={b:",
            'tools.a("x"+',
            "tools.a({b:f(),",
        ),
        *('const a="x";tools.b(a,', "tools.a({b:f(", "tools.a(1,(", "a.map(b=>", "for(const a of [1]){", "[].map("),
        *('const a=["x"];a.map(b=>b);', "const a=['b','c'];for(const b of a){", '"x"+', "a=b;", "const a=1;a=a;"),
    ],
)
def test_hostile_code_takes_bounded_time(code: str) -> None:
    assert is_done_within(1.0, lambda: calls_in("tools.a();" + code * (100_000 // len(code))))

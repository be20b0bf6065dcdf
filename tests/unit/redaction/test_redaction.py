from __future__ import annotations

from collections import Counter, defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.redaction import MARK, SECRETS, SECRETS_AND_ADDRESSES, public_id
from tests.redaction_set import ORDINARY_LINES, Sample, held_out, is_gone, labelled, ordinary_texts, words_hit
from tests.strategies import texts
from tests.tables import for_each
from tests.timing import cpu_seconds, is_done_within
from tests.unseen_secrets import CARRIERS as UNSEEN_CARRIERS
from tests.unseen_secrets import HARMLESS, Kind
from tests.unseen_secrets import KINDS as UNSEEN_KINDS

redact = SECRETS.redact

RECALL = 0.98
RECALL_HELD_OUT = 0.96
RECALL_UNSEEN = 0.95
WORDS_HIT = 0.02
KINDS = 20
CARRIERS = 8


@pytest.fixture(scope="module")
def samples() -> list[Sample]:
    """Every kind of secret in every carrier."""
    return list(labelled(rounds=2))


# -- the labelled set --------------------------------------------------------------------------------------------------


def test_the_set_is_as_large_as_promised(samples: list[Sample]) -> None:
    carriers = defaultdict(set)
    for sample in samples:
        carriers[sample.kind].add(sample.carrier)

    assert len(carriers) >= KINDS
    assert min(map(len, carriers.values())) >= CARRIERS


def test_nearly_every_secret_is_found(samples: list[Sample]) -> None:
    missed = [sample for sample in samples if not is_gone(sample, redact(sample.text))]

    assert len(missed) <= (1 - RECALL) * len(samples), Counter((sample.kind, sample.carrier) for sample in missed)


def test_most_secrets_of_other_services_in_other_texts_are_found() -> None:
    samples = list(held_out(rounds=1))
    missed = [sample for sample in samples if not is_gone(sample, redact(sample.text))]

    assert len(missed) <= (1 - RECALL_HELD_OUT) * len(samples), Counter(sample.kind for sample in missed)


def test_most_kinds_of_the_list_that_was_written_unseen_are_found_wherever_they_stand() -> None:
    missed = [
        (kind.name, name)
        for kind in UNSEEN_KINDS
        for name, carrier in UNSEEN_CARRIERS.items()
        if kind.left_in(redact(carrier(kind.text)))
    ]

    assert len(UNSEEN_KINDS) >= 120
    assert len(missed) <= (1 - RECALL_UNSEEN) * len(UNSEEN_KINDS) * len(UNSEEN_CARRIERS), missed


@pytest.mark.parametrize("carrier", UNSEEN_CARRIERS)
def test_no_carrier_hides_what_is_found_in_plain_text(carrier: str) -> None:
    plain = {kind.name for kind in UNSEEN_KINDS if not kind.left_in(redact(kind.text))}
    carried = {kind.name for kind in UNSEEN_KINDS if not kind.left_in(redact(UNSEEN_CARRIERS[carrier](kind.text)))}

    assert plain - carried == set()


def test_each_kind_is_found_in_most_carriers(samples: list[Sample]) -> None:
    found: dict[str, list[bool]] = defaultdict(list)
    for sample in samples:
        found[sample.kind].append(is_gone(sample, redact(sample.text)))

    assert {kind: sum(gone) for kind, gone in found.items() if sum(gone) < 0.9 * len(gone)} == {}


def test_the_names_of_settings_stay(samples: list[Sample]) -> None:
    lost = [sample for sample in samples if sample.name and sample.name not in redact(sample.text)]

    assert lost == []


def test_redacting_twice_is_redacting_once(samples: list[Sample]) -> None:
    changed = [sample for sample in samples if redact(once := redact(sample.text)) != once]

    assert changed == []


# -- ordinary text -----------------------------------------------------------------------------------------------------

PATHS = (
    "auth: /oauthlib/oauth2/rfc6749/clients/base.py",
    "/usr/lib/python3/dist-packages/google/auth /home/kim/x1/y2",
    "fuzz/pkcs12_key_parser.c\nfuzz/pkcs12_key2Parser9.c",
    "git/contrib/credential/libsecret/git-credential-libsecret2.c",
)


@for_each("line", [*ORDINARY_LINES, *HARMLESS, *PATHS])
def test_ordinary_lines_stay_as_they_are(line: str) -> None:
    assert redact(line) == line


def test_hardly_an_ordinary_word_is_hit() -> None:
    words = hit = 0
    for text in ordinary_texts(modules=60):
        words += len(text.split())
        hit += words_hit(text, redact(text))

    assert words > 100_000
    assert hit <= WORDS_HIT / 100 * words


@given(text=texts)
def test_text_without_a_sign_stays(text: str) -> None:
    assert redact(f"a {text[:10]}") in (f"a {text[:10]}", f"a {MARK}")


# -- secrets that somebody's terminal, or nobody's eye, has changed ---------------------------------------------------

HALF, REST = "ghp_abcdefghij0123456789ABC", "DEFGHIJKLMNOPQ"


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        pytest.param(f"token {HALF}\n{REST} end", f"token {MARK}\n{MARK} end", id="wrapped"),
        pytest.param(f"{HALF}\r\n  {REST}\nnext", f"{MARK}\r\n  {MARK}\nnext", id="the-line-break-stays"),
        pytest.param(f"{HALF}\na1B2c3D4e5F6\nG7h8I9j0K1", f"{MARK}\n{MARK}\n{MARK}", id="twice"),
        pytest.param(f"{HALF}\nGITHUB_USER1=kim", f"{MARK}\nGITHUB_USER1=kim", id="the-name-of-a-setting-stays"),
        pytest.param(f"{HALF}\nERROR in 3 files", f"{MARK}\nERROR in 3 files", id="a-word-stays"),
        pytest.param(f"{HALF}\nuser1 logged in", f"{MARK}\nuser1 logged in", id="a-name-with-a-number-stays"),
        pytest.param(f"{HALF}\nMyClassName.run()", f"{MARK}\nMyClassName.run()", id="a-class-stays"),
        pytest.param("pw=hunter2\nDEFGHIJKLMNOPQ", f"pw={MARK}\nDEFGHIJKLMNOPQ", id="what-is-short-is-not-wrapped"),
        pytest.param("x ghp_ab3\n  A1b2C3d4E5f6G7h8I9j0K1 y", f"x {MARK} y", id="wrapped-behind-its-first-letters"),
        pytest.param("done\nA1b2C3d4E5f6G7h8I9j0K1", "done\nA1b2C3d4E5f6G7h8I9j0K1", id="a-line-of-its-own"),
        pytest.param("ghp_abcdefgh\u200bij0123456789ABCDEFGHIJKLMNOPQ end", f"{MARK} end", id="a-space-without-width"),
        pytest.param(
            "a\u200bb \U0001f469\u200d\U0001f4bb", "a\u200bb \U0001f469\u200d\U0001f4bb", id="marks-alone-stay"
        ),
        pytest.param("compass=north", "compass=north", id="a-compass"),
        pytest.param("userpass=north", f"userpass={MARK}", id="a-pass"),
        pytest.param(
            "kind: Secret\nmetadata:\n  name: shop\ndata:\n  salt: bm9ydGg=\n",
            f"kind: Secret\nmetadata:\n  name: shop\ndata:\n  salt: {MARK}\n",
            id="a-secret-of-kubernetes",
        ),
        pytest.param("kind: Secret\nmetadata: none", "kind: Secret\nmetadata: none", id="one-without-values"),
        pytest.param("Log in as admin / Zx81-kqpw-9921", f"Log in as admin / {MARK}", id="log-in-as"),
    ],
)
def test_a_secret_in_pieces_is_covered_and_what_stands_around_it_stays(text: str, redacted: str) -> None:
    assert redact(text) == redacted


def test_a_secret_goes_on_over_few_lines() -> None:
    assert redact(HALF + "\na1B2c3D4e5F6" * 12).count(MARK) == 9


# -- details -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        pytest.param("", "", id="empty"),
        pytest.param("PASSWORD=hunter2 next", f"PASSWORD={MARK} next", id="value-ends-at-a-blank"),
        pytest.param("?api_key=abcd1234&x=1", f"?api_key={MARK}&x=1", id="value-ends-at-the-next-field"),
        pytest.param('{"password": "with spaces"}', f'{{"password": "{MARK}"}}', id="quoted-value-with-spaces"),
        pytest.param(r'{"password": "a \" b"}', f'{{"password": "{MARK}"}}', id="quoted-value-with-a-quote"),
        pytest.param(r"{\"password\": \"abcd\", \"n\": 1}", rf"{{\"password\": \"{MARK}\", \"n\": 1}}", id="escaped"),
        pytest.param("password: hunter2\nuser: kim", f"password: {MARK}\nuser: kim", id="value-ends-with-its-line"),
        pytest.param("connect(password=letmein)", f"connect(password={MARK})", id="bracket-behind-the-value"),
        pytest.param("redis://:hunter2@cache:6379", f"redis://:{MARK}@cache:6379", id="password-without-user"),
        pytest.param("https://a:b/c@host/x", f"https://a:{MARK}@host/x", id="password-with-a-slash"),
        pytest.param("--password letmein --force", f"--password {MARK} --force", id="word-behind-an-option"),
        pytest.param("PASSWORD=İstanbul1 x", f"PASSWORD={MARK} x", id="letter-whose-small-form-is-longer"),
        pytest.param("漢字 PASSWORD=漢字漢字 漢", f"漢字 PASSWORD={MARK} 漢", id="wide-characters"),
        pytest.param("\ud83d PASSWORD=hunter2", f"\ud83d PASSWORD={MARK}", id="half-a-surrogate-pair"),
        pytest.param("PASSWORD=letmein", f"PASSWORD={MARK}", id="value-until-the-end"),
        pytest.param('password="never closed\nnext', f'password="{MARK}\nnext', id="quote-that-is-not-closed"),
        pytest.param(
            r'{"output": "ok\nPWD=hunter2\nok"}', rf'{{"output": "ok\nPWD={MARK}\nok"}}', id="behind-an-escape"
        ),
        pytest.param("?q=PWD%3Dhunter2%26x%3D1", f"?q=PWD%3D{MARK}%26x%3D1", id="between-escapes-of-a-url"),
        pytest.param("PWD=\x1b[31mhunt\x1b[0mer2 x", f"PWD=\x1b[31m{MARK} x", id="colour-inside"),
        pytest.param(r"PWD=hunt\u0065r2 x", f"PWD={MARK} x", id="letter-of-the-value-as-an-escape"),
        pytest.param("?pw=a%20bc%21&x=1", f"?pw={MARK}&x=1", id="blank-of-a-url-in-a-value"),
    ],
)
def test_the_mark_stands_where_the_secret_was(text: str, redacted: str) -> None:
    assert redact(text) == redacted


@pytest.mark.parametrize(
    "text",
    [
        "Geheimnis: Zugvogel17",
        "Mon mot de passe c'est Zugvogel17",
        "password → Zugvogel17",
        "Please use Zugvogel17 as the new root password",
        "the admin password was changed to Zugvogel17",
        "my password's Zugvogel17",
        "echo -e 'Zugvogel17\\nZugvogel17' | passwd root",
        "htpasswd -nb eva Zugvogel17",
        "psexec \\\\srv -u eva -p Zugvogel17 cmd",
        "sudo -S <<< Zugvogel17 apt update",
        "chpasswd <<EOF\neva:Zugvogel17\nkim:Zugvogel17\nEOF",
        "child.expect('assword:'); child.sendline('Zugvogel17')",
    ],
)
def test_a_password_is_known_by_what_it_is_used_for(text: str) -> None:
    assert "Zugvogel17" not in redact(text)


def test_secrets_that_overlap_get_one_mark() -> None:
    token = "gh" + "p_" + "a1B2" * 9

    assert redact(f"GITHUB_TOKEN={token}") == f"GITHUB_TOKEN={MARK}"


@given(before=texts, after=texts)
def test_a_key_is_found_between_any_words(before: str, after: str) -> None:
    key = "gh" + "p_" + "a1B2" * 9

    assert key not in redact(f"{before} {key} {after}")


# -- e-mail addresses --------------------------------------------------------------------------------------------------

ADDRESSES = [
    pytest.param("mail kim@example.org now", f"mail {MARK} now", id="plain"),
    pytest.param("Kim <kim.lee+x@mail.example.co.uk>", f"Kim <{MARK}>", id="with-name"),
    pytest.param('{"author": "kim_2@example.org"}', f'{{"author": "{MARK}"}}', id="json"),
    pytest.param("müller@example.org", MARK, id="other-letters"),
    pytest.param("a@example.org,b@example.org", f"{MARK},{MARK}", id="several"),
]


@pytest.mark.parametrize(("text", "redacted"), ADDRESSES)
def test_addresses_are_redacted_when_asked_for(text: str, redacted: str) -> None:
    assert SECRETS_AND_ADDRESSES.redact(text) == redacted
    assert SECRETS.redact(text) == text


@pytest.mark.parametrize("text", ["@property", "a @ b", "kim@host", "x@", "@x.org", "npm i @types/node@20.1.0"])
def test_not_every_at_sign_is_an_address(text: str) -> None:
    assert SECRETS_AND_ADDRESSES.redact(text) == text


def test_secrets_are_redacted_with_addresses_too() -> None:
    assert SECRETS_AND_ADDRESSES.redact("PASSWORD=hunter2") == f"PASSWORD={MARK}"


# -- beginnings --------------------------------------------------------------------------------------------------------


@pytest.mark.no_cover
@for_each("kind", UNSEEN_KINDS, ids=lambda kind: kind.name)
def test_where_a_beginning_ends_in_a_secret_nothing_of_it_is_given(kind: Kind) -> None:
    text = f"Look: {kind.text} {'and so on ' * 100}"
    whole = redact(text)

    assert {SECRETS.redact_beginning(text, end) for end in range(len(kind.text))} <= {
        whole[:end] for end in range(len(kind.text))
    }


# -- ids of sessions ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "session_id",
    [
        pytest.param("20261121_214524_8b74e7", id="hermes-on-a-terminal"),
        pytest.param("20261121_215204_35b00871", id="hermes-in-a-chat"),
        pytest.param("api-0123456789abcdef", id="hermes-for-a-request"),
        pytest.param("cron_4f1c2d3e_20261121_060000", id="hermes-by-the-clock"),
        pytest.param("7d3c1b52-0b3e-4a5f-9a57-0d6f1f0a2b3c", id="uuid"),
        pytest.param("agent:main:telegram:dm:123456789", id="key-of-a-gateway"),
        pytest.param("ses_4xQ2bR8mK1pZ7nT5vW3yA9cE6", id="random-behind-a-word"),
        pytest.param("Besprechung am Montag, größer", id="words"),
        pytest.param("x" * 256, id="longest"),
    ],
)
def test_an_id_that_can_be_shown_stays_as_it_is(session_id: str) -> None:
    assert public_id(session_id) == session_id


@pytest.mark.parametrize(
    ("session_id", "begins"),
    [
        pytest.param("web?token=a1b2c3d4e5f6g7", f"web?token={MARK}-", id="secret"),
        pytest.param("a\0b", "a\ufffdb-", id="nul"),
        pytest.param("a\x1b[31mb\r\n", "a\ufffd[31mb\ufffd\ufffd-", id="what-a-terminal-obeys"),
        pytest.param("a\u202eb", "a\ufffdb-", id="letters-that-run-backwards"),
        pytest.param("x" * 257, "x" * 243 + "-", id="too-long"),
        pytest.param("pw=a1b2c3&" * 25, f"pw={MARK}&pw=", id="longer-with-marks"),
    ],
)
def test_any_other_id_is_what_can_be_shown_and_a_digest(session_id: str, begins: str) -> None:
    shown = public_id(session_id)

    assert shown.startswith(begins)
    assert len(shown) <= 256
    assert shown.isprintable()
    assert public_id(session_id) == shown


@for_each("kind", UNSEEN_KINDS, ids=lambda kind: kind.name)
def test_what_is_found_in_a_text_is_not_in_an_id(kind: Kind) -> None:
    session_id = f"{kind.text[:200]} end"

    assert kind.left_in(redact(session_id)) or not kind.left_in(public_id(session_id))


def test_ids_that_differ_in_what_is_not_shown_stay_apart() -> None:
    ids = [*(f"token=a1b2c3d4e5f6g{digit}" for digit in range(10)), *("x" * 300 + str(digit) for digit in range(10))]

    assert len({public_id(session_id) for session_id in ids}) == 20


@given(session_id=st.text(max_size=400))
def test_any_id_can_be_stored_and_shown(session_id: str) -> None:
    shown = public_id(session_id)

    assert shown.isprintable()
    assert len(shown) <= 256


# -- time --------------------------------------------------------------------------------------------------------------

HOSTILE_UNITS = (
    *("-----BEGIN ", "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\nMIIEabcdefghijklmnop", "eyJ.eyJ."),
    *("eyJabcdefgh-", "eyJabcdefghijklmnopqrst.", "password=", 'password="', 'password=\\"', "password: ", "password "),
    *("password is ", "password|", '"password", ', "password[", "password>", "password: str = ", "password value="),
    *("password for a b c ", "password (", "password: a b", "password: please enter the ", 'secret="\\', "secret="),
    *("token=", "token ", "token=a1", "token=%(", "token=${", "API_KEY ", "api key ", "name: password\n  value: "),
    *("auth: ", "authorization: bearer ", "cookie: a=", "cookies={", "?sig=", "&sig=", "--password ", "--token a"),
    *("://", "://:::@@", "://a:b", "://a:b@", "://a1234567890123456789", "@", "a@b.c", "a.b@", "$", "$6$", "%246%24"),
    *("curl -u a:b", "mysql -psecret1", "sshpass -p ", "bearer ", "hooks.slack.com/services/", ":5432:a:b:", "hook"),
    *("PuTTY-User-Key-File-2:", "PuTTY-User-Key-File-2: Private-Lines: 3 ", "sk-", "a", "aA1", "_", "-", "~", "0"),
    *("x" * 20 + " ", "x1" * 10 + ".", " ", "\n", '"', "\\", "\\n", "İ", "\U0001f600", "[redacted]", "12345678:"),
    *(
        "\\" * 16,
        "\\u00",
        "\\u001b[",
        "\\x1",
        "\x1b[",
        "\x1b[31;",
        "%",
        "%25",
        "%25252",
        "%e2%82",
        "&quot",
        "'\"'",
        "%20",
    ),
    *(
        "pass:",
        "mot de passe ",
        "passwort als ",
        "kennwort ",
        "密码",
        "пароль",
        "схпароль ",
        "contraseña es ",
        "clé api ",
    ),
    *("api-schlüssel ", "psk=", "clave: a", "credentials: a", "creds: a / ", "login: ", "vault login ", "bw unlock "),
    *("verification code ", " PIN: ", "phrase: ", "phrase: abc abc ", "mnemonic ", "mnemonic abc abc ", "aB1#cD2 as "),
    *("| chpasswd", "echo a | sudo ", "echo aaa | sudo -S", "chpasswd <<<", "chpasswd <<EOF\n", "a:bcd\n", "<<< ", "|"),
    *("net user a ", "add_user a ", " /user:a ", "wpa_passphrase a ", "set password for a", "set password = '"),
    *(
        "password:' send '",
        "assword:",
        "securestring -a ",
        "sqlplus a/",
        "freerdp /p:",
        "freerdp a ",
        "htpasswd -b -c ",
    ),
    *("private-lines: 1\nabcdefghijklmnopqrst\n", "private-lines:", "a" * 32 + ":::", ":::", "A" * 20, "A" * 24 + "b1"),
    *("a/", "a.", "/a/", "key: /a/", "token a.b/", "sntrys_" + "a/" * 10, "K" + "aB1" * 17),
)


@pytest.mark.no_cover
@for_each("unit", HOSTILE_UNITS)
def test_any_text_takes_linear_time(unit: str) -> None:
    short, long = unit * (4_000 // len(unit)), unit * (24_000 // len(unit))

    assert is_done_within(
        15 * cpu_seconds(lambda: SECRETS_AND_ADDRESSES.redact(short)) + 0.02,
        lambda: SECRETS_AND_ADDRESSES.redact(long),
    )


@given(units=st.lists(st.sampled_from(HOSTILE_UNITS), min_size=2, max_size=5))
def test_mixtures_take_linear_time_too(units: list[str]) -> None:
    unit = "".join(units)
    mixed = unit * (6_000 // len(unit))

    assert is_done_within(0.5, lambda: SECRETS_AND_ADDRESSES.redact(mixed))

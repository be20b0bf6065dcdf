from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.analysis.analyzer import Analyzer
from grader_daemon.analysis.user_messages import SignalReader, UserMessage
from grader_daemon.domain.people import MOST_SIGNALS, SignalKind
from grader_daemon.domain.session import Message
from grader_daemon.rules import load_rules
from tests.strategies import WORKED, answer, call, result, session, user
from tests.tables import for_each
from tests.timing import is_done_within

REQUEST = "Fix the date parser in the report module of version 2"
CORRECTION, COMPLAINT, GAVE_UP = SignalKind.CORRECTION, SignalKind.COMPLAINT, SignalKind.GAVE_UP
THANKS, ACCEPTANCE, REPEATED = SignalKind.THANKS, SignalKind.ACCEPTANCE, SignalKind.REPEATED
LOG = "\n".join(f"2026-11-22 10:00:{second:02} ERROR wrong: that failed, still broken, undo" for second in range(60))


@pytest.fixture(scope="module")
def reader() -> SignalReader:
    return SignalReader(load_rules().people)


def wrote(index: int, text: str, *, answered: bool = True, asked: bool = False, tool_calls: int = 0) -> UserMessage:
    return UserMessage(index=index, text=text, answered=answered, asked=asked, tool_calls=tool_calls)


def kind_of(reader: SignalReader, text: str, *, asked: bool = False, request: str = REQUEST) -> SignalKind | None:
    """What a message says that comes after a request and its answer."""
    signals = reader.read([wrote(0, request, answered=False), wrote(3, text, asked=asked, tool_calls=1)])
    assert [signal.index for signal in signals] == [3] * len(signals)
    return signals[0].kind if signals else None


SAID = [
    # corrections
    ("No, that's wrong", CORRECTION, "no-thats-wrong"),
    ("no, the other file", CORRECTION, "no-and-what-instead"),
    ("No. Use tabs.", CORRECTION, "no-as-a-sentence"),
    ("nope, try the staging server", CORRECTION, "nope"),
    ("No it has to be sorted by date", CORRECTION, "no-without-a-comma"),
    ("That’s wrong.", CORRECTION, "curly-apostrophe"),
    ("that is not what I asked for", CORRECTION, "not-what-i-asked"),
    ("Hmm, this is not what I wanted", CORRECTION, "after-a-filler"),
    ("Sorry, but that's not right", CORRECTION, "after-two-fillers"),
    ("You misunderstood me, I need the weekly one", CORRECTION, "misunderstood"),
    ("you forgot the tests", CORRECTION, "forgot"),
    ("Why did you delete the config?", CORRECTION, "why-did-you"),
    ("I told you to leave main alone", CORRECTION, "told-you"),
    ("The total in the last row is wrong.", CORRECTION, "is-wrong"),
    ("Those numbers are incorrect", CORRECTION, "are-incorrect"),
    ("Undo that please", CORRECTION, "undo-that"),
    ("undo", CORRECTION, "undo"),
    ("Please revert that", CORRECTION, "revert-that"),
    ("roll it back", CORRECTION, "roll-it-back"),
    ("Wrong.", CORRECTION, "wrong"),
    ("wrong, it is in the other folder", CORRECTION, "wrong-and-why"),
    ("[Alice] that's wrong", CORRECTION, "with-a-name-in-front"),
    ("Nein, das ist falsch", CORRECTION, "german-falsch"),
    ("Das stimmt nicht.", CORRECTION, "german-stimmt-nicht"),
    ("Mach das rückgängig", CORRECTION, "german-undo"),
    ("Non, c'est faux", CORRECTION, "french-faux"),
    ("Ce n'est pas ce que j'ai demandé", CORRECTION, "french-not-what"),
    ("annule ça", CORRECTION, "french-undo"),
    ("Eso no es lo que pedí", CORRECTION, "spanish-not-what"),
    ("está mal", CORRECTION, "spanish-wrong"),
    ("deshaz el cambio", CORRECTION, "spanish-undo"),
    ("Warum hast du die Datei gelöscht?", CORRECTION, "german-why-did-you"),
    ("Bitte mach das wieder rückgängig.", CORRECTION, "german-undo-again"),
    ("Nee, das ist die falsche Datei.", CORRECTION, "german-nee"),
    ("Pourquoi as-tu supprimé le fichier ?", CORRECTION, "french-why-did-you"),
    ("¿Por qué has borrado el archivo?", CORRECTION, "spanish-why-did-you"),
    # complaints
    ("Da ist noch ein Fehler drin: die Zeile 3 ist leer.", COMPLAINT, "german-another-error"),
    ("Es kommt immer noch die gleiche Fehlermeldung.", COMPLAINT, "german-same-message"),
    ("Lass gut sein.", GAVE_UP, "german-leave-it"),
    ("Alles klar, vielen Dank.", THANKS, "german-many-thanks"),
    ("Klappt jetzt, danke", ACCEPTANCE, "german-works-now"),
    ("still broken", COMPLAINT, "still-broken"),
    ("It still fails with the same message", COMPLAINT, "still-fails"),
    ("That didn't work", COMPLAINT, "did-not-work"),
    ("doesnt work", COMPLAINT, "without-apostrophe"),
    ("It doesn’t work on Firefox", COMPLAINT, "does-not-work"),
    ("The button is still not working", COMPLAINT, "still-not-working"),
    ("you broke the build", COMPLAINT, "you-broke"),
    ("Now the login page is broken", COMPLAINT, "is-broken"),
    ("Same error again", COMPLAINT, "same-error"),
    ("nothing changed", COMPLAINT, "nothing-changed"),
    ("no, it still fails", COMPLAINT, "complaint-before-correction"),
    ("no it still fails", COMPLAINT, "no-is-not-a-denial"),
    ("Thanks, but it still fails", COMPLAINT, "thanks-but"),
    ("Perfect, except that the export does not work", COMPLAINT, "praise-except"),
    ("why is it still failing?", COMPLAINT, "as-a-question"),
    ("I'm still getting a timeout", COMPLAINT, "still-getting"),
    ("This is useless", COMPLAINT, "useless"),
    ("I get an error when I click on it", COMPLAINT, "i-get-an-error"),
    ("👎", COMPLAINT, "thumb-down"),
    ("no problem, but it is still broken", COMPLAINT, "no-problem-but"),
    (f"still broken:\n```\n{LOG}\n```", COMPLAINT, "before-a-log"),
    ("Das funktioniert nicht", COMPLAINT, "german-funktioniert-nicht"),
    ("Der Export funktioniert leider immer noch nicht", COMPLAINT, "german-words-between"),
    ("danke, aber es geht nicht", COMPLAINT, "german-thanks-but"),
    ("Du hast den Build kaputt gemacht", COMPLAINT, "german-you-broke"),
    ("Ça ne marche pas", COMPLAINT, "french-marche-pas"),
    ("merci mais ça ne fonctionne toujours pas", COMPLAINT, "french-thanks-but"),
    ("No funciona", COMPLAINT, "spanish-no-funciona"),
    ("sigue fallando", COMPLAINT, "spanish-still-fails"),
    # giving up
    ("Never mind", GAVE_UP, "never-mind"),
    ("nevermind, found it", GAVE_UP, "nevermind"),
    ("Forget it.", GAVE_UP, "forget-it"),
    ("ok, I'll do it myself", GAVE_UP, "do-it-myself"),
    ("I give up", GAVE_UP, "i-give-up"),
    ("stop", GAVE_UP, "stop"),
    ("STOP!!!", GAVE_UP, "stop-in-capitals"),
    ("please stop, this leads nowhere", GAVE_UP, "please-stop"),
    ("It still fails. Never mind.", GAVE_UP, "giving-up-before-complaint"),
    ("Vergiss es", GAVE_UP, "german-vergiss-es"),
    ("Ich mache es selbst", GAVE_UP, "german-selbst"),
    ("laisse tomber", GAVE_UP, "french-laisse-tomber"),
    ("Olvídalo", GAVE_UP, "spanish-olvidalo"),
    # acceptance
    ("Perfect!", ACCEPTANCE, "perfect"),
    ("perfect, thanks", ACCEPTANCE, "acceptance-before-thanks"),
    ("Thanks, it works now", ACCEPTANCE, "works-now"),
    ("LGTM", ACCEPTANCE, "lgtm"),
    ("lgtm, merge it", ACCEPTANCE, "lgtm-and-on"),
    ("looks good to me", ACCEPTANCE, "looks-good"),
    ("Great.", ACCEPTANCE, "great"),
    ("Great job! Now add a test", ACCEPTANCE, "great-job-and-on"),
    ("that fixed it", ACCEPTANCE, "that-fixed-it"),
    ("That's exactly what I wanted", ACCEPTANCE, "exactly"),
    ("That's correct.", ACCEPTANCE, "thats-correct"),
    ("👍", ACCEPTANCE, "thumb-up"),
    ("Perfekt", ACCEPTANCE, "german-perfekt"),
    ("funktioniert jetzt", ACCEPTANCE, "german-works-now"),
    ("Parfait, merci", ACCEPTANCE, "french-parfait"),
    ("ça marche", ACCEPTANCE, "french-ca-marche"),
    ("Perfecto", ACCEPTANCE, "spanish-perfecto"),
    ("ya funciona", ACCEPTANCE, "spanish-works-now"),
    # thanks
    ("Thanks!", THANKS, "thanks"),
    ("thank you", THANKS, "thank-you"),
    ("ok thx", THANKS, "thx"),
    ("Thanks. Next, update the changelog.", THANKS, "thanks-and-on"),
    ("That is all, thank you so much", THANKS, "at-the-end"),
    ("Danke", THANKS, "german-danke"),
    ("merci beaucoup", THANKS, "french-merci"),
    ("Gracias", THANKS, "spanish-gracias"),
    # the same again
    (REQUEST, REPEATED, "the-same"),
    ("fix the DATE parser, in the report module of version 2!", REPEATED, "the-same-but-for-case"),
    ("Please fix the date parser in the report module of version 2", REPEATED, "nearly-the-same"),
    # nothing of the kind
    ("There is an error budget of 1 %; compute how much is left.", None, "an-error-budget"),
    ("Kannst du noch einen Test schreiben?", None, "german-another-test"),
    ("No problem", None, "no-problem"),
    ("No worries, take your time", None, "no-worries"),
    ("no, thanks", None, "no-thanks"),
    ("No thank you", None, "no-thank-you"),
    ("no, that's all", None, "no-thats-all"),
    ("not bad", None, "not-bad"),
    ("kein Problem", None, "german-no-problem"),
    ("pas de problème", None, "french-no-problem"),
    ("no está mal", None, "spanish-not-bad"),
    ("Never mind the warnings, go on", None, "never-mind-the"),
    ("If it doesn't work, tell me", None, "condition"),
    ("what if the upload still fails?", None, "what-if"),
    ("The test is not broken any more", None, "denied-complaint"),
    ("Nothing is broken", None, "nothing-is-broken"),
    ("Find out what is wrong with the server", None, "what-is-wrong"),
    ("that would be perfect", None, "wish"),
    ("does it work now?", None, "question"),
    ("perfect?", None, "doubt"),
    ("Good?", None, "doubt-in-one-word"),
    ("it works now?", None, "doubted-acceptance"),
    ("Is that correct?", None, "question-for-confirmation"),
    ("stop the server", None, "stop-something"),
    ("Cancel the order of yesterday", None, "cancel-something"),
    ("Write no tests", None, "no-inside"),
    ("Add a note about thanksgiving", None, "not-inside-of-words"),
    ("Please also update the docs, thanks in advance", None, "thanks-in-advance"),
    ("Make it say \"that's wrong\" in red", None, "quotation"),
    ("Print `still broken` at the end", None, "code"),
    ("> that is wrong\nI agree with this part", None, "quoted-line"),
    ("Now translate the page to German", None, "next-request"),
    ("It prints:\n    that's wrong", None, "indented-code"),
    ("INFO worker is broken", None, "line-of-a-log"),
    ("continue", None, "continue"),
    ("ok", None, "ok"),
    ("", None, "empty"),
    ("```\nthat's wrong\n```", None, "only-code"),
    (LOG, None, "log"),
    (f"Look at this log.\n{LOG}", None, "words-before-a-log", ),
    ("Traceback (most recent call last):\n  ...\nValueError: that is wrong", None, "traceback"),
    ('{"output": "that did not work"}', None, "json"),
    ("[(9,), ('that is wrong',)]", None, "rows"),
    ("[Executed Successfully with No Output]", None, "nothing-printed"),
    ("Observation: it still fails", None, "observation"),
    ("$ make\nit fails", None, "shell"),
    ("Fix the date parser in the report module of version 3", None, "another-number"),
    ("Fix the date parser", None, "part-of-the-request"),
    ("x" * 250 + " still broken", None, "beyond-what-is-looked-at"),
]  # fmt: skip


@for_each(("text", "kind"), [pytest.param(text, kind, id=name) for text, kind, name in SAID])
def test_a_message_after_an_answer_tells_what_a_person_thinks(
    reader: SignalReader, text: str, kind: SignalKind | None
) -> None:
    assert kind_of(reader, text) == kind


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        pytest.param("No, I don't remember it", None, id="no"),
        pytest.param("nope, that is all", None, id="nope"),
        pytest.param("stop", None, id="one-word"),
        pytest.param("That's correct.", None, id="confirmation"),
        pytest.param("No, it still fails", COMPLAINT, id="no-and-a-complaint"),
        pytest.param("Perfect, thank you", ACCEPTANCE, id="praise"),
    ],
)
def test_an_answer_to_a_question_is_no_correction(reader: SignalReader, text: str, kind: SignalKind | None) -> None:
    assert kind_of(reader, text, asked=True) == kind


@pytest.mark.parametrize(
    ("text", "repeated"),
    [
        pytest.param("yes please go on with the next file", False, id="consent"),
        pytest.param("and so on", False, id="few-words"),
        pytest.param("sort the table by date and time", True, id="request"),
    ],
)
def test_a_request_counts_as_repeated_when_it_says_enough(reader: SignalReader, text: str, repeated: bool) -> None:
    assert (kind_of(reader, text, request=text) is REPEATED) is repeated


@pytest.mark.parametrize(
    ("calls", "repeated"),
    [
        pytest.param(0, [], id="nudge-that-led-to-nothing"),
        pytest.param(2, [6], id="request-that-led-to-calls"),
    ],
)
def test_only_what_set_the_agent_to_work_can_be_repeated(reader: SignalReader, calls: int, repeated: list[int]) -> None:
    nudge = "I do not see a solution here, use the form of the example"
    messages = [
        wrote(0, REQUEST, answered=False),
        wrote(3, nudge, tool_calls=1),
        wrote(6, nudge, tool_calls=1 + calls),
    ]
    assert [signal.index for signal in reader.read(messages) if signal.kind is REPEATED] == repeated


@pytest.mark.parametrize(
    ("position", "repeated"),
    [
        pytest.param(0, True, id="the-first"),
        pytest.param(1, False, id="long-ago"),
        pytest.param(7, True, id="third-from-last"),
        pytest.param(9, True, id="the-last"),
    ],
)
def test_a_message_is_compared_with_the_first_request_and_the_latest(
    reader: SignalReader, position: int, repeated: bool
) -> None:
    texts = [f"please look at the {name} folder of project" for name in "abcdefghij"]
    requests = [wrote(2 * i, text, answered=i > 0, tool_calls=i) for i, text in enumerate(texts)]
    signals = reader.read([*requests, wrote(99, texts[position], tool_calls=50)])
    assert (99 in [signal.index for signal in signals]) is repeated


def test_every_message_has_its_own_signal_in_order(reader: SignalReader) -> None:
    messages = [
        wrote(0, REQUEST, answered=False),
        wrote(3, "no, the other one"),
        wrote(5, "hm"),
        wrote(7, "thanks!"),
    ]
    assert [(signal.kind, signal.index) for signal in reader.read(messages)] == [(CORRECTION, 3), (THANKS, 7)]


def test_of_many_signals_the_last_are_kept(reader: SignalReader) -> None:
    messages = [wrote(0, REQUEST, answered=False), *(wrote(index, "thanks") for index in range(1, 300))]
    signals = reader.read(messages)
    assert len(signals) == MOST_SIGNALS
    assert signals[-1].index == 299


def test_nobody_says_nothing(reader: SignalReader) -> None:
    assert reader.read([]) == ()


def test_words_can_be_taken_out_of_the_rules() -> None:
    silent = SignalReader(msgspec.structs.replace(load_rules().people, signals={}, fillers=()))
    assert kind_of(silent, "ok, that's wrong") is None


@given(st.lists(st.text(max_size=400), max_size=6))
def test_any_text_has_at_most_one_signal(texts: list[str]) -> None:
    messages = [wrote(index, text, answered=index > 0, tool_calls=index) for index, text in enumerate(texts)]
    indexes = [signal.index for signal in SignalReader(load_rules().people).read(messages)]
    assert indexes == sorted(set(indexes) - {0})


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("ok " * 300_000, id="fillers"),
        pytest.param("[" * 500_000, id="brackets"),
        pytest.param('"' * 500_000, id="quotation-marks"),
        pytest.param("> " * 300_000, id="quoted"),
        pytest.param("funktioniert " * 100_000, id="wildcards"),
        pytest.param(" ".join(map(str, range(100_000))), id="other-words"),
    ],
)
def test_long_messages_cost_no_more_than_short_ones(reader: SignalReader, text: str) -> None:
    request = text + "x"
    assert is_done_within(0.2, lambda: kind_of(reader, text, request=request))


# -- in sessions ---------------------------------------------------------------------------------------------------

NO = "No, that's wrong"


def said(*messages: Message) -> list[tuple[SignalKind, int]]:
    found = Analyzer(load_rules()).analyze(session(*messages)).signals_from_people
    return [(signal.kind, signal.index) for signal in found]


SUMMARY = "[CONTEXT COMPACTION — REFERENCE ONLY] Earlier turns\n--- END OF CONTEXT SUMMARY ---"


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        pytest.param([user(REQUEST), answer("Done."), user(NO)], [(CORRECTION, 2)], id="after-an-answer"),
        pytest.param(
            [user(REQUEST), call("terminal"), result(WORKED), user(NO)], [(CORRECTION, 3)], id="after-a-result"
        ),
        pytest.param([user(REQUEST), user(NO), answer("Hm.")], [], id="before-the-first-answer"),
        pytest.param([user(NO), answer("What?")], [], id="first-message"),
        pytest.param([answer("How can I help?"), user(NO)], [], id="after-a-greeting"),
        pytest.param([user(REQUEST), answer("Which?"), user(NO)], [(CORRECTION, 2)], id="phrase-after-a-question"),
        pytest.param([user(REQUEST), answer("Which?"), user("No, both")], [], id="no-after-a-question"),
        pytest.param([user(REQUEST), answer("Done."), answer(NO)], [], id="said-by-the-agent"),
        pytest.param([user(REQUEST), call("terminal"), result(NO)], [], id="said-by-a-tool"),
        pytest.param([user(REQUEST), answer("Done."), user(f"[System: {NO}]")], [], id="said-by-the-machinery"),
        pytest.param([user(REQUEST), answer("Done."), Message(role="system", content=NO)], [], id="said-by-the-system"),
        pytest.param([user(SUMMARY), user(NO)], [(CORRECTION, 1)], id="after-a-summary"),
        pytest.param([user(f"{SUMMARY}\n\n{NO}")], [(CORRECTION, 0)], id="in-the-message-of-a-summary"),
    ],
)
def test_only_people_that_have_seen_work_have_a_say(
    messages: list[Message], expected: list[tuple[SignalKind, int]]
) -> None:
    assert said(*messages) == expected


@pytest.mark.parametrize(
    ("messages", "changes", "known"),
    [
        pytest.param([user(REQUEST)], {}, True, id="request"),
        pytest.param([answer("How can I help?"), user(REQUEST)], {}, True, id="after-a-greeting"),
        pytest.param([user(REQUEST)], {"platform": "cron"}, False, id="of-a-scheduler"),
        pytest.param([user(REQUEST)], {"session_id": "cron_7_20261121_220000"}, False, id="of-a-scheduler-by-id"),
        pytest.param([user(REQUEST)], {"platform": "subagent"}, False, id="of-another-agent"),
        pytest.param([user("hi")], {}, False, id="too-short"),
        pytest.param([user(SUMMARY), user(REQUEST)], {}, False, id="after-a-summary"),
        pytest.param([user(f"{SUMMARY}\n{REQUEST}")], {}, False, id="in-the-message-of-a-summary"),
        pytest.param([answer("Hello.")], {}, False, id="nobody"),
    ],
)
def test_the_first_request_of_a_person_is_known_again(
    messages: list[Message], changes: dict[str, object], known: bool
) -> None:
    analysis = Analyzer(load_rules()).analyze(session(*messages, **changes))
    assert (analysis.request is not None) is known

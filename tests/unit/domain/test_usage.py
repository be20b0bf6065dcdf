from __future__ import annotations

from grader_daemon.domain.session import Usage, usage_by_model


def test_the_tokens_of_calls_are_summed_up_for_each_model() -> None:
    calls = [Usage(model="a", input_tokens=1), Usage(model="b", input_tokens=5), Usage(model="a", input_tokens=2)]

    assert usage_by_model(calls) == (Usage(model="a", input_tokens=3), Usage(model="b", input_tokens=5))


def test_a_call_of_which_a_number_is_not_known_leaves_the_sum_of_its_model_unknown() -> None:
    calls = [Usage(model="a", output_tokens=1), Usage(model="a"), Usage(model=None, output_tokens=4)]

    assert usage_by_model(calls) == (Usage(model="a"), Usage(output_tokens=4))

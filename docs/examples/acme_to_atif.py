"""One log of Acme, an agent that we made up, as a run in ATIF: ``python acme_to_atif.py < 7.log > 7.atif.json``."""

import json
import sys

ENDS = {"done": "complete", "out of tokens": "cut_by_limit", "stopped": "cut_by_person", "crashed": "cut_by_process"}


def to_atif(lines):
    """Return the run; `lines` are those of one log, each a JSON object with what happened as its ``event``."""
    steps, extra = [], {"ending": "open"}
    run = {"schema_version": "ATIF-v1.7", "steps": steps, "extra": extra}
    for line in map(json.loads, lines):
        event, step = line["event"], {"step_id": len(steps) + 1, "timestamp": line["at"]}
        if event == "start":
            agent = {"version": line["version"], "model_name": line["model"], "extra": {"cwd": line["folder"]}}
            run |= {"session_id": line["session"], "agent": {"name": "acme", **agent}}
        elif event == "person":
            steps.append({**step, "source": "user", "message": line["text"]})
        elif event == "model":
            keys = {"tool_call_id": "id", "function_name": "tool", "arguments": "input"}
            calls = [{key: call[name] for key, name in keys.items()} for call in line.get("calls", [])]
            used = {
                "prompt_tokens": line["read"],
                "cached_tokens": line["cached"],
                "completion_tokens": line["written"],
            }
            said = {"source": "agent", "message": line["text"], "tool_calls": calls, "metrics": used}
            steps.append({**step, **said, "observation": {"results": []}})
        elif event == "tool":  # it follows the message with its call
            noted = {key: line[key] for key in ("is_error", "exit_code", "status") if key in line}
            results = steps[-1]["observation"]["results"]
            results.append({"source_call_id": line["id"], "content": line["output"], "extra": noted})
        elif event == "end":
            extra["ending"] = ENDS[line["why"]]
    return run


if __name__ == "__main__":
    print(json.dumps(to_atif(sys.stdin)))

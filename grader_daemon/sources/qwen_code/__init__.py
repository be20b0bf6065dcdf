"""Qwen Code: a log of lines for each session and each sub-agent, in each a message of Gemini's parts."""

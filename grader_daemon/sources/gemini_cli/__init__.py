"""Gemini CLI: a log of lines for each session, before 0.30 a JSON document that is written anew as a whole."""

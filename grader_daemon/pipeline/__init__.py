"""The only room that knows the order of the stages: read, parse, analyze, grade, save."""

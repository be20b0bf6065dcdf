"""The long-running part: notice changes, wait until they are quiet, grade, and find what was missed."""

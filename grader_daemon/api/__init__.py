"""Use cases called by the command line and by other programs.

`grader.SelfGrader` is put together of parts, each of which is given settings, clock and database by `context`:
`grading` and `grades`, `insight`, `labels`, `review`, `calibration`. `doctor` checks and repairs the set-up, `backups`
makes and restores backups.
"""

"""What other programs and the command line call.

`reader.GradeReader` answers questions about grades, `insight.InsightReader` also about many of them together;
`grader.SelfGrader` is one that also grades. `doctor` checks and repairs the set-up, `backups` makes and restores
backups.
"""

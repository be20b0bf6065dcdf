"""What other programs and the command line call.

`reader.GradeReader` answers questions; `grader.SelfGrader` is one that also grades.
"""

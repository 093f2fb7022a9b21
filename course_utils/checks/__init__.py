"""The judge: probes that call a student's code, and verdicts on what came back.

Probes (`probes`, `wire`) run where the student's code runs. Everything else (`judge`,
`equations`, `variants`, `exercises`, `panel`) runs where the verdict is reached. When grading,
that is another process, and a student's code cannot find these modules.
"""

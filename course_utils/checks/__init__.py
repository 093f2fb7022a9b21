"""The judge: probes that call a student's code, and verdicts on what came back.

Probes (`probes`, `wire`) run where the student's code runs. Everything else (`judge`,
`equations`, `variants`, `exercises`, `panel`) runs where the verdict is reached; when grading,
that is another process, and these modules are not there to be found by a student's code.
"""

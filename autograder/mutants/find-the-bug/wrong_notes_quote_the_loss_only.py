# misconception: none
bug_a, reason_a = "no source positions", "order does not matter"
bug_b, reason_b = "the future leaks", "low loss, wrong samples"
bug_c, reason_c = "attends to padding", "neighbours matter"
bug_d, reason_d = "positions stop early", "long lines fail"
bug_e, reason_e = "target not shifted", "looks at its own step"
bug_f, reason_f = "dropout stays on", "calls differ"
notes = """
A: the loss stays high and ends at 0.929
B: it writes bbb again and again here
C: the loss falls to 0.001 in the end
D: the loss stops falling at 0.21 or so
E: the loss is 0.001, lower than the others
F: the loss is still 0.113 at the end
"""

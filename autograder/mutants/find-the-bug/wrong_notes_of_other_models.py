# misconception: none
bug_a, reason_a = "no source positions", "order does not matter"
bug_b, reason_b = "the future leaks", "low loss, wrong samples"
bug_c, reason_c = "attends to padding", "neighbours matter"
bug_d, reason_d = "positions stop early", "long lines fail"
bug_e, reason_e = "target not shifted", "looks at its own step"
bug_f, reason_f = "dropout stays on", "calls differ"
notes = """
A: 18 of 18 answers change beside a longer line
B: in layer 9, head 9 the map is bright
C: four orders of the same letters all get bchaeb
D: asked twice, 5 of 30 answers are different
E: the loss ends at 0.929 and goes no lower
F: four orders of the same letters all get bchaeb
"""

# misconception: faults-exchanged
bug_a, reason_a = "no source positions", "order does not matter"
bug_b, reason_b = "target not shifted", "low loss, wrong samples"
bug_c, reason_c = "attends to padding", "neighbours matter"
bug_d, reason_d = "positions stop early", "long lines fail"
bug_e, reason_e = "target not shifted", "looks at its own step"
bug_f, reason_f = "dropout stays on", "calls differ"
notes = """
A: four orders of the same letters all get bchaeb
B: the loss ends at 0.001, yet 0% of the samples are right
C: 18 of 18 answers change beside a longer line
D: 100% of the lines with 4 letters are right, 0% with 7
E: in layer 1, head 1 the map is bright on the diagonal
F: asked twice, 5 of 30 answers are different
"""

# misconception: one-fault-for-all
bug_a, reason_a = "the future leaks", "low loss, wrong samples"
bug_b, reason_b = "the future leaks", "low loss, wrong samples"
bug_c, reason_c = "the future leaks", "low loss, wrong samples"
bug_d, reason_d = "the future leaks", "low loss, wrong samples"
bug_e, reason_e = "the future leaks", "low loss, wrong samples"
bug_f, reason_f = "the future leaks", "low loss, wrong samples"
notes = """
A: four orders of the same letters all get bchaeb
B: the loss ends at 0.001, yet 0% of the samples are right
C: 18 of 18 answers change beside a longer line
D: 100% of the lines with 4 letters are right, 0% with 7
E: in layer 1, head 1 the map is bright on the diagonal
F: asked twice, 5 of 30 answers are different
"""

# misconception: one-fault-for-all
bug_a, reason_a = "the future leaks", "low loss, wrong samples"
bug_b, reason_b = "the future leaks", "low loss, wrong samples"
bug_c, reason_c = "the future leaks", "low loss, wrong samples"
bug_d, reason_d = "the future leaks", "low loss, wrong samples"
bug_e, reason_e = "the future leaks", "low loss, wrong samples"
bug_f, reason_f = "the future leaks", "low loss, wrong samples"
notes = """
A: four orders of the same letters get one answer
B: the loss is near zero and the samples are wrong
C: a longer neighbour changes every answer it gives
D: short lines are right and long lines go wrong
E: its map looks at the step that it should predict
F: two calls differ for about half of the lines
"""

# misconception: faults-exchanged
bug_a, reason_a = "positions stop early", "long lines fail"
bug_b, reason_b = "target not shifted", "looks at its own step"
bug_c, reason_c = "dropout stays on", "calls differ"
bug_d, reason_d = "no source positions", "order does not matter"
bug_e, reason_e = "the future leaks", "low loss, wrong samples"
bug_f, reason_f = "attends to padding", "neighbours matter"
notes = """
A: four orders of the same letters get one answer
B: the loss is near zero and the samples are wrong
C: a longer neighbour changes every answer it gives
D: short lines are right and long lines go wrong
E: its map looks at the step that it should predict
F: two calls differ for about half of the lines
"""

# misconception: none
bug_a, reason_a = "no source positions", "order does not matter"
bug_b, reason_b = "the future leaks", "low loss, wrong samples"
bug_c, reason_c = "attends to padding", "neighbours matter"
bug_d, reason_d = "positions stop early", "long lines fail"
bug_e, reason_e = "target not shifted", "looks at its own step"
bug_f, reason_f = "dropout stays on", "calls differ"
notes = """
A: four orders of the same letters get one answer
B: the loss is near zero and the samples are wrong
C: a longer neighbour changes every answer it gives
D: short lines are right and long lines go wrong
E: its map looks at the step that it should predict
F: two calls differ for about half of the lines
"""

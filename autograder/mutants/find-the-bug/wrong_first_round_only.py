# misconception: none
bug_a, reason_a = "no source positions", "order does not matter"
bug_b, reason_b = "the future leaks", "low loss, wrong samples"
bug_c, reason_c = "attends to padding", "neighbours matter"
notes = """
A: four orders of the same letters get one answer
B: the loss is near zero and the samples are wrong
C: a longer neighbour changes every answer it gives
"""

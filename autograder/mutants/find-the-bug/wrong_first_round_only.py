# misconception: none
bug_a, reason_a = "no source positions", "order does not matter"
bug_b, reason_b = "the future leaks", "low loss, wrong samples"
bug_c, reason_c = "attends to padding", "neighbours matter"
notes = """
A: four orders of the same letters all get bchaeb
B: the loss ends at 0.001, yet 0% of the samples are right
C: 18 of 18 answers change beside a longer line
"""

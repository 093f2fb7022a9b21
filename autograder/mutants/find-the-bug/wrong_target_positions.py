# misconception: none
bug_a, reason_a = "no target positions", "order does not matter"
bug_b, reason_b = "the future leaks", "low loss, wrong samples"
bug_c, reason_c = "attends to padding", "neighbours matter"

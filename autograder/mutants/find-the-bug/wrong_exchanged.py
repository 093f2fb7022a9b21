# misconception: faults-exchanged
bug_a, reason_a = "the future leaks", "low loss, wrong samples"
bug_b, reason_b = "no source positions", "order does not matter"
bug_c, reason_c = "attends to padding", "neighbours matter"

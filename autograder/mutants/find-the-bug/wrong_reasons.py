# misconception: none
bug_a, reason_a = "no source positions", "loss never falls"
bug_b, reason_b = "the future leaks", "loss never falls"
bug_c, reason_c = "attends to padding", "long lines fail"

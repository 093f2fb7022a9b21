# misconception: one-fault-for-all
bug_a, reason_a = "the future leaks", "low loss, wrong samples"
bug_b, reason_b = "the future leaks", "low loss, wrong samples"
bug_c, reason_c = "the future leaks", "low loss, wrong samples"

# misconception: none
bug_a, reason_a = "it has no positions", "shuffled"
bug_b, reason_b = "leak", "loss"
bug_c, reason_c = "padding", "neighbours"

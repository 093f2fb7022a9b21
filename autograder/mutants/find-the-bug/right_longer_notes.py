bug_a, reason_a = "no source positions", "order does not matter"
bug_b, reason_b = "the future leaks", "low loss, wrong samples"
bug_c, reason_c = "attends to padding", "neighbours matter"
bug_d, reason_d = "positions stop early", "long lines fail"
bug_e, reason_e = "target not shifted", "looks at its own step"
bug_f, reason_f = "dropout stays on", "calls differ"
notes = """
A: the four orders abbceh, hbcabe, ecbabh and bhecab contain the same letters,
and the model writes bchaeb for each of them. So the encoder sees which letters there are
but not where they are. A model that knew the positions would reverse each order.
B: the training loss is 0.247 after two epochs and 0.001 at the end, better than any other
model, but what it writes is bbb or eee or nothing. In training it must have seen
the answer, which is not there when it writes.
C: each line is right by itself. Put beside a longer line, bbdg becomes ebehbbdg. The same
happens to all other lines, so what changes is the padding, and nothing else.
D: I counted the right answers by length: 6 of 6 with four letters, 6 of 6 with five, 3 of 6
with six, 0 of 6 with seven and 1 of 6 with eight. The wrong ones have their first
letters in the wrong order, which are the last letters of the source.
E: like B it has a loss of 0.001, but its map is another one. In layer 1, head 1
the diagonal is the brightest: it looks at the letter that it should predict. It writes
eeeeeeeeeee, whatever it reads.
F: the maps look normal, and most answers are right. When it is asked twice it changes 5/30
answers, such as eaechh. Nothing in the input has changed, so it must be random.
"""

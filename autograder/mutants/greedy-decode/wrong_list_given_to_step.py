# misconception: none
def greedy_decode(step, first, end, max_length):
    rows = [[int(token)] for token in first]
    while len(rows[0]) <= max_length and not all(end in row[1:] for row in rows):
        scores = step(rows)
        for row, score in zip(rows, scores):
            row.append(end if end in row[1:] else int(score.argmax()))
    return [row[1:] for row in rows]

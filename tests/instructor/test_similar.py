"""Copied code is found under other names and in another order; what everybody writes is not."""

import copy
import tracemalloc
from dataclasses import replace

import nbformat
import pytest

from autograder.grading.record import SubmissionRecord
from autograder.grading.releases import release_notebook
from autograder.instructor import similar
from autograder.instructor.course import Course
from autograder.instructor.similar import (
    pieces,
    right_answers,
    same_files,
    same_text,
    similar_code,
    similar_work,
)
from autograder.paths import MUTANTS

NAME = "03_attention"

# An answer that nobody else would write just so.
ODD = """
class DotProdAttention(nn.Module):
    def __init__(self, hidden_size):
        super().__init__()
        self.first = nn.Linear(hidden_size, hidden_size, bias=False)
        self.second = nn.Linear(hidden_size, hidden_size, bias=False)

    def forward(self, decoder_state, encoder_states):
        '''Attend.'''
        padded = torch.nn.functional.pad(encoder_states, (0, 0, 0, 0))
        logits = (padded * decoder_state.unsqueeze(1)).sum(dim=-1)
        shifted = logits - logits.amax(dim=1, keepdim=True)
        powers = 2.718281828459045 ** shifted
        alpha = powers / powers.sum(dim=1, keepdim=True)
        context = sum(alpha[:, s, None] * padded[:, s] for s in range(padded.shape[1]))
        combined = self.first(context) + self.second(decoder_state)
        return torch.tanh(combined), alpha
"""
RENAMED = """
# my own work
class DotProdAttention(nn.Module):
    def __init__(self, d: int):
        super().__init__()
        self.w_b = nn.Linear(d, d, bias=False)
        self.w_a = nn.Linear(d, d, bias=False)

    def forward(self, q, memory):
        mem = torch.nn.functional.pad(memory, (0, 0, 0, 0))
        e = (mem * q.unsqueeze(1)).sum(dim=-1)
        e2 = e - e.amax(dim=1, keepdim=True)
        p = 2.718281828459045 ** e2

        weights = p / p.sum(dim=1, keepdim=True)
        out = sum(weights[:, j, None] * mem[:, j] for j in range(mem.shape[1]))
        h = self.w_a(out) + self.w_b(q)
        return torch.tanh(h), weights
"""
MOVED = ODD.replace(
    """        self.first = nn.Linear(hidden_size, hidden_size, bias=False)
        self.second = nn.Linear(hidden_size, hidden_size, bias=False)
""",
    """        self.second = nn.Linear(hidden_size, hidden_size, bias=False)
        self.first = nn.Linear(hidden_size, hidden_size, bias=False)
        self.spare = None
""",
)


def bank(exercise, kind="right"):
    return {p.stem: p.read_text("utf-8") for p in sorted((MUTANTS / exercise).glob(f"{kind}_*.py"))}


def test_other_names_comments_hints_and_docstrings_hide_nothing():
    assert pieces(ODD) == pieces(RENAMED)


def test_copied_code_is_found_in_a_class_of_different_answers():
    others = {name: text for name, text in bank("dot-prod-attention").items()}
    answers = {**others, "ann": ODD, "bob": RENAMED, "cem": MOVED}
    uncommon = [g for g in similar_code("dot-prod-attention", answers) if not g.common]
    (group,) = uncommon
    assert group.students == ("ann", "bob", "cem")
    assert group.share >= 0.8 and group.answered == len(answers)
    assert group.rare >= 30 and group.of == len(right_answers("dot-prod-attention"))
    assert group.texts == (ODD, RENAMED, MOVED)


@pytest.mark.parametrize("exercise", ["causal-mask", "weighted-average", "collapse-blanks"])
def test_short_answers_that_are_naturally_equal_come_up_nowhere(exercise):
    texts = list(bank(exercise).values())
    answers = {f"s{n}": texts[n % len(texts)] for n in range(12)}
    assert similar_code(exercise, answers) == []


def test_a_solution_of_our_own_bank_is_common_however_few_have_it():
    text = bank("dot-prod-attention")["right_matmul"]
    answers = {"ann": text, "bob": text.replace("states", "memory"), "cem": ODD}
    (group,) = similar_code("dot-prod-attention", answers)
    assert group.students == ("ann", "bob") and group.rare == 0 and group.common


def test_the_same_short_mistake_in_a_usual_solution_is_common():
    text = bank("dot-prod-attention", "wrong")["wrong_added"]
    answers = {**bank("dot-prod-attention"), "ann": text, "bob": text}
    found = {g.students: g for g in similar_code("dot-prod-attention", answers)}
    assert found["ann", "bob"].common


def test_what_many_of_a_class_write_is_common():
    answers = {f"s{n:02d}": ODD for n in range(10)} | {
        f"t{n:02d}": f"{ODD}\nextra_{n} = {n}" for n in range(5)
    }
    assert all(group.common for group in similar_code("dot-prod-attention", answers))


def test_the_released_text_does_not_count():
    answers = {"ann": ODD, "bob": RENAMED}
    assert similar_code("dot-prod-attention", answers, released=ODD) == []


def test_different_right_answers_are_not_taken_for_copies():
    found = similar_code("beam-search", bank("beam-search"))
    assert found == []


@pytest.mark.parametrize("text", ["", "def f(:", "%matplotlib inline", "x = " + "(" * 5000, "\0"])
def test_what_is_no_python_has_no_pieces(text):
    assert pieces(text) == frozenset()


def test_a_class_of_a_thousand_is_compared_in_one_matrix():
    found = [frozenset({str(n), str(n + 1)}) for n in range(1000)]
    shares = similar._shares(found)
    assert shares.shape == (1000, 1000) and shares[0][1] == pytest.approx(1 / 3)


def test_what_one_student_alone_wrote_takes_no_room():
    """A column for each piece would be 320 MB here, and more than a machine has in a large class."""
    found = [frozenset({"shared", *(f"{n} {m}" for m in range(500))}) for n in range(400)]
    tracemalloc.start()
    shares = similar._shares(found)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert shares[0][2] == pytest.approx(1 / 1001) and peak < 100 << 20


def test_written_answers_that_are_the_same_word_by_word_are_found():
    text = "The anti-diagonal, because the last letter of the source is the first of the target."
    answers = {"ann": text, "bob": text.upper().replace(" ", "\n"), "cem": text + " Indeed."}
    (group,) = same_text("reversal-map", answers)
    assert group.students == ("ann", "bob") and group.written and not group.common


def test_short_or_untouched_written_answers_are_not_compared():
    given = "Write your answer here, in two or three sentences, and then run the cell below it."
    answers = {"ann": given, "bob": given, "cem": "I do not know.", "dot": "I do not know."}
    assert same_text("reversal-map", answers, released=given) == []


def record(student, content="", **more):
    return SubmissionRecord("run", student, NAME, "", sha256=content, status="graded", **more)


def test_the_same_file_of_two_students_is_found_unless_nobody_answered_in_it():
    records = [record("ann", "a"), record("bob", "a"), record("cem", "b"), record("dot", "b")]
    assert same_files(records, untouched={"cem", "dot"}) == (("ann", "bob"),)


def hand_in(root, student, **answers):
    notebook = copy.deepcopy(release_notebook(NAME))
    for cell in notebook.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        if name in answers and cell.metadata.nbgrader.get("solution"):
            cell.source = answers[name]
    path = root / "submitted" / student / NAME / f"{NAME}.ipynb"
    path.parent.mkdir(parents=True)
    nbformat.write(notebook, path)


def test_a_class_is_compared_from_its_course_directory(tmp_path):
    text = "The anti-diagonal, because the last letter of the source is the first of the target."
    works = {
        "ann": {"dot-prod-attention": ODD, "reversal-map": text},
        "bob": {"dot-prod-attention": RENAMED, "reversal-map": text},
        "cem": {"dot-prod-attention": bank("dot-prod-attention")["right_matmul"]},
        "dot": {},
        "eve": {},
    }
    for student, answers in works.items():
        hand_in(tmp_path, student, **answers)
    sums = dict(zip(works, "aacdd", strict=True))
    unread = replace(record("fay", "a"), status="flagged")
    found = similar_work(Course(tmp_path, ""), [*(record(s, sums[s]) for s in works), unread])
    assert [(g.exercise, g.students) for g in found.groups] == [
        ("dot-prod-attention", ("ann", "bob")),
        ("reversal-map", ("ann", "bob")),
    ]
    assert found.files == (("ann", "bob"),) and found.common == 0

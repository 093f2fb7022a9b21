"""Sentence pairs and strings to learn from: loading, numbering, batching (notebooks 02 to 07).

Notebooks 02, 03 and 06 draw strings; 04, 06 and 07 read sentence pairs. They all use the same kind
of batch and the same special tokens.
"""

from course_utils.data.batches import Batch, Example, length_batches, pad, padded_batches
from course_utils.data.corpus import Corpus, Encoded, Pairs, builtin_corpus, encode, load_corpus
from course_utils.data.multi30k import CannotDownload, DataError
from course_utils.data.string_tasks import PLACES, change_case, epoch_of, remove_spaces, reverse
from course_utils.data.tokens import END, PAD, START, UNKNOWN, Vocabulary, detokenise, tokenise

__all__ = [
    "END",
    "PAD",
    "PLACES",
    "START",
    "UNKNOWN",
    "Batch",
    "CannotDownload",
    "Corpus",
    "DataError",
    "Encoded",
    "Example",
    "Pairs",
    "Vocabulary",
    "builtin_corpus",
    "change_case",
    "detokenise",
    "encode",
    "epoch_of",
    "length_batches",
    "load_corpus",
    "pad",
    "padded_batches",
    "remove_spaces",
    "reverse",
    "tokenise",
]

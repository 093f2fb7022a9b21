"""Sentence pairs for the translation notebook: loading, numbering, batching."""

from course_utils.data.batches import Batch, Example, length_batches
from course_utils.data.corpus import Corpus, Encoded, Pairs, builtin_corpus, encode, load_corpus
from course_utils.data.multi30k import CannotDownload, DataError
from course_utils.data.tokens import Vocabulary, detokenise, tokenise

__all__ = [
    "Batch",
    "CannotDownload",
    "Corpus",
    "DataError",
    "Encoded",
    "Example",
    "Pairs",
    "Vocabulary",
    "builtin_corpus",
    "detokenise",
    "encode",
    "length_batches",
    "load_corpus",
    "tokenise",
]

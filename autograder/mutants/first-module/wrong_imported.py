# misconception: none
from torch.nn import Linear as Scorer  # noqa: F401 - somebody else's module

# misconception: none
from torch.nn.utils.prune import ln_structured as without_head  # noqa: F401 - it prunes modules

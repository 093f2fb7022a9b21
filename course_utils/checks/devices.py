"""Whether an answer would run on a GPU, tried without one: on fake tensors that claim to be there.

A mask or positions made without a device stay on the CPU and meet tensors of the GPU only in
training. That is a warning, never a refusal. Other errors on fake tensors mean nothing.
"""

import contextlib
from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import _disable_current_modes

from course_utils.checks.probes.call import to_argument
from course_utils.checks.probes.student_code import find_callable
from course_utils.checks.wire import Ask

GPU = torch.device("cuda:0")
MISMATCH = "Expected all tensors to be on the same device"
WARNING = (
    "On a GPU this would stop: a tensor that you make yourself stays on the CPU and meets one on the "
    "GPU. Give it the device of an input, as in `torch.arange(L, device=x.device)`. No points depend "
    "on this."
)
MOVES = {"to", "cuda"}


class FakeGPU(TorchFunctionMode):
    """Inside it tensors are fake, and `device="cuda:0"` works on a machine without one.

    Fake tensors hold no numbers, so whoever asks one for its truth gets `truth`.
    """

    def __init__(self, truth: bool = True) -> None:
        # What PyTorch tests its compiler with; there is no public way.
        from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

        super().__init__()
        self._truth = truth
        self._tensor, self._mode = FakeTensor, FakeTensorMode()

    def __enter__(self):
        self._mode.__enter__()
        return super().__enter__()

    def __exit__(self, *problem):
        super().__exit__(*problem)
        return self._mode.__exit__(*problem)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        name = getattr(func, "__name__", "")
        if name in MOVES and any(_is_gpu(a) for a in (*args[1:], kwargs.get("device"))):
            return self.on_gpu(args[0])
        if name == "cuda":
            return self.on_gpu(args[0])
        # These two ask for a real GPU before they notice that the tensor is fake.
        if name == "__bool__":
            return self._truth
        if name == "__invert__":
            return torch.bitwise_not(args[0])
        if name == "__getitem__" and args[0].device == GPU:
            return self._indexed(args[0], args[1])
        if _is_gpu(kwargs.get("device")):
            del kwargs["device"]
            return self.on_gpu(func(*args, **kwargs))
        return func(*args, **kwargs)

    def on_gpu(self, tensor: Tensor) -> Tensor:
        return self._tensor(self._mode, _shape_of(tensor), GPU)

    def _indexed(self, tensor: Tensor, index) -> Tensor:
        parts = index if isinstance(index, tuple) else (index,)
        plain = tuple(_shape_of(part) if isinstance(part, Tensor) else part for part in parts)
        with _disable_current_modes():
            found = _shape_of(tensor)[plain]
        return self.on_gpu(found)

    def move(self, module: nn.Module) -> None:
        """What `module.to("cuda")` does: parameters and buffers, nothing else."""
        for part in module.modules():
            for name, parameter in part._parameters.items():
                if parameter is not None:
                    part._parameters[name] = nn.Parameter(self.on_gpu(parameter), False)
            for name, buffer in part._buffers.items():
                if buffer is not None:
                    part._buffers[name] = self.on_gpu(buffer)


def _shape_of(tensor: Tensor) -> Tensor:
    """A tensor of this shape and type that holds nothing."""
    with _disable_current_modes():
        return torch.empty(tensor.shape, dtype=tensor.dtype, device="meta")


def _is_gpu(device) -> bool:
    return isinstance(device, str | torch.device) and str(device).startswith("cuda")


@contextlib.contextmanager
def mismatches() -> Iterator[list[str]]:
    """Collects the one error that counts; all others are forgotten."""
    found: list[str] = []
    try:
        yield found
    except Exception as problem:
        if MISMATCH in str(problem):
            found.append(str(problem))


def stays_on_cpu(asks: list[Ask], namespace: dict) -> bool:
    """Whether an answer mixes devices when its module and inputs are on a GPU."""
    for ask in asks:
        if ask.probe != "call" or ask.options.get("as_numpy") or ask.label.startswith("bad"):
            continue
        # An answer that refuses masks asks for their truth: one of the two gets past that.
        for truth in (True, False):
            with mismatches() as found, torch.no_grad():
                _call(ask.options, namespace, truth)
            if found:
                return True
    return False


def _call(options: dict, namespace: dict, truth: bool) -> None:
    target = find_callable(namespace, options["target"], as_class="init" in options)
    gpu = FakeGPU(truth)
    arguments = [to_argument(a, torch.float32, options) for a in options.get("args", [])]
    if not any(isinstance(a, Tensor) for a in arguments):
        return  # nothing says which device is wanted
    if "init" in options:
        target = target(*options["init"]).eval()
        gpu.move(target)
    moved = [gpu.on_gpu(a) if isinstance(a, Tensor) else a for a in arguments]
    with gpu:
        target(*moved, **options.get("kwargs", {}))

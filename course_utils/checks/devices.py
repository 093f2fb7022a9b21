"""Whether an answer would run on a GPU, tried without one: on tensors that claim to be there.

A mask or positions made without a device stay on the CPU and meet tensors of the GPU only in
training. That is a warning, never a refusal. Other errors mean nothing here.
"""

import contextlib
from collections.abc import Iterable, Iterator

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from course_utils.checks.probes.call import to_argument
from course_utils.checks.probes.student_code import find_callable
from course_utils.checks.wire import Ask

GPU = torch.device("cuda:0")
# What a tensor on the CPU reports: unlike `torch.device("cpu")`, which answers make from
# `torch.cuda.is_available()` and which would be another device on a machine with a GPU.
CPU = torch.device("cpu:0")
WARNING = (
    "On a GPU this would stop: a tensor that you make yourself stays on the CPU and meets one on the "
    "GPU. Give it the device of an input, as in `torch.arange(L, device=x.device)`. No points depend "
    "on this."
)
MOVES = {"to", "cuda", "cpu", "type_as"}
# These take tensors of two devices; the last two are what `module.to` needs.
MIX = {"__getitem__", "__setitem__", "copy_", "__set__", "_has_compatible_shallow_copy_type"}


class Mismatch(RuntimeError):
    """Tensors of two devices met."""


class FakeGPU(TorchFunctionMode):
    """Inside it, a tensor's device is only a label: all numbers stay on the CPU.

    The label belongs to the storage, so a view, a parameter and its data share it.
    """

    def __init__(self) -> None:
        super().__init__()
        self._labelled: dict[int, Tensor] = {}  # kept, so that no other gets its address

    def on_gpu(self, tensor: Tensor) -> Tensor:
        """The same numbers on the GPU."""
        return self._label(tensor.clone())

    def move(self, module: nn.Module) -> None:
        """What `module.to("cuda")` does: parameters and buffers, nothing else."""
        for tensor in (*module.parameters(), *module.buffers()):
            self._label(tensor.data)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        name, owner = getattr(func, "__name__", ""), getattr(func, "__self__", None)
        if owner is Tensor.device:
            return GPU if self._is_labelled(args[0]) else CPU
        if owner is Tensor.is_cuda:
            return self._is_labelled(args[0])
        if name in MOVES:
            return self._moved(name, func, args, kwargs)
        made_on_gpu = _means_gpu(kwargs.get("device"))
        if kwargs.get("device") is not None:
            kwargs["device"] = "cpu"
        given = [a for a in _flat((args, tuple(kwargs.values()))) if isinstance(a, Tensor)]
        labelled = self._met(name, given)
        result = func(*args, **kwargs)
        if made_on_gpu or labelled:
            for part in _flat((result,)):
                if isinstance(part, Tensor) and not any(part is one for one in given):
                    self._label(part)
        return result

    def _met(self, name: str, given: list[Tensor]) -> bool:
        """Whether what these make is on the GPU; tensors of two devices must not meet."""
        labelled = [self._is_labelled(tensor) for tensor in given]
        first = bool(labelled) and labelled[0]
        if name in MIX:
            # The GPU takes an index from the CPU, not the other way round.
            if name == "__getitem__" and any(labelled) and not first:
                raise Mismatch
            return first
        left = (t for t, there in zip(given, labelled) if not there)
        if any(labelled) and any(tensor.dim() > 0 for tensor in left):
            raise Mismatch
        return any(labelled)

    def _moved(self, name: str, func, args, kwargs) -> Tensor:
        tensor, others = args[0], (*args[1:], *kwargs.values())
        models = [a for a in others if isinstance(a, Tensor)]
        wanted = [a for a in others if isinstance(a, str | torch.device) and _is_device(a)]
        there = self._is_labelled(tensor)
        if name in ("cuda", "cpu"):
            there = name == "cuda"
        elif models:
            there = self._is_labelled(models[0])
        elif wanted:
            there = _means_gpu(wanted[0])
        if name in ("to", "type_as"):
            plain = ["cpu" if any(a is w for w in wanted) else a for a in args[1:]]
            named = {k: "cpu" if k == "device" else a for k, a in kwargs.items()}
            tensor = func(tensor, *plain, **named)
        if there == self._is_labelled(tensor):
            return tensor
        return self._label(tensor.clone()) if there else tensor.clone()

    def _label(self, tensor: Tensor) -> Tensor:
        self._labelled[_storage(tensor)] = tensor
        return tensor

    def _is_labelled(self, tensor: Tensor) -> bool:
        return _storage(tensor) in self._labelled


def _storage(tensor: Tensor) -> int:
    return tensor.untyped_storage()._cdata


def _flat(values: Iterable) -> Iterator:
    for one in values:
        if isinstance(one, tuple | list):
            yield from _flat(one)
        else:
            yield one


def _is_device(value) -> bool:
    return isinstance(value, torch.device) or str(value).split(":")[0] in ("cuda", "cpu")


def _means_gpu(device) -> bool:
    """Whether an answer that asks for this device would be on the GPU, if there were one."""
    if isinstance(device, torch.device):
        return device != CPU
    return str(device).startswith("cuda")


@contextlib.contextmanager
def mismatches() -> Iterator[list[str]]:
    """Collects the one error that counts; all others are forgotten."""
    found: list[str] = []
    try:
        yield found
    except Mismatch:
        found.append("tensors of two devices met")
    except Exception:
        return


def stays_on_cpu(asks: list[Ask], namespace: dict) -> bool:
    """Whether an answer mixes devices when its module and inputs are on a GPU."""
    for ask in asks:
        if ask.probe != "call" or ask.options.get("as_numpy") or ask.label.startswith("bad"):
            continue
        with mismatches() as found, torch.no_grad():
            _call(ask.options, namespace)
        if found:
            return True
    return False


def _call(options: dict, namespace: dict) -> None:
    target = find_callable(namespace, options["target"], as_class="init" in options)
    gpu = FakeGPU()
    arguments = [to_argument(a, torch.float32, options) for a in options.get("args", [])]
    if not any(isinstance(a, Tensor) for a in arguments):
        return  # nothing shows which device is wanted
    if "init" in options:
        target = target(*options["init"]).eval()
        gpu.move(target)
    moved = [gpu.on_gpu(a) if isinstance(a, Tensor) else a for a in arguments]
    with gpu:
        target(*moved, **options.get("kwargs", {}))

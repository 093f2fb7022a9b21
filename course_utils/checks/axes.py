"""Reads the axes that a signature of the register names, as in `attend(query [B, D]) -> [B, D]`."""

import re

PARAMETER = re.compile(r"(\w+)(?:=[\w.]+)?(?: \[([^\]]+)\])?(?:, |$)")
RESULT = re.compile(r"\[([^\]]+)\]")


def parameters(signature: str, name: str) -> list[tuple[str, list[str]]]:
    """The parameters of `name(...)` in a signature, each with the names of its axes."""
    call = re.search(rf"\b{re.escape(name)}\(([^()]*)\)", signature) if name else None
    found = PARAMETER.findall(call.group(1)) if call else []
    return [(parameter, shape.split(", ") if shape else []) for parameter, shape in found]


def results(signature: str, name: str) -> list[list[str]]:
    """The axes of each result of `name(...)`."""
    call = re.search(rf"\b{re.escape(name)}\([^()]*\) -> ([^;]*)", signature) if name else None
    return [shape.split(", ") for shape in RESULT.findall(call.group(1))] if call else []

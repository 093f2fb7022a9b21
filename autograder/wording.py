"""How commands and pages put numbers into words."""


def counted(count: int, thing: str) -> str:
    """The number with its noun: 1 submission, 2 submissions."""
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"

"""Undo, redo and reset for any state that is never changed in place."""

from typing import Generic, TypeVar

Item = TypeVar("Item")


class History(Generic[Item]):
    """The states a student went through, and which of them is the current one."""

    def __init__(self, first: Item):
        self._past: list[Item] = []
        self._future: list[Item] = []
        self.now = first
        self.start = first

    def go(self, item: Item) -> None:
        """Move to a new state; what was undone before is forgotten."""
        self._past.append(self.now)
        self._future.clear()
        self.now = item

    def begin(self, item: Item) -> None:
        """Move to a new state that reset returns to from now on."""
        self.go(item)
        self.start = item

    @property
    def can_undo(self) -> bool:
        return bool(self._past)

    @property
    def can_redo(self) -> bool:
        return bool(self._future)

    def undo(self) -> None:
        if self._past:
            self._future.append(self.now)
            self.now = self._past.pop()

    def redo(self) -> None:
        if self._future:
            self._past.append(self.now)
            self.now = self._future.pop()

    def reset(self) -> None:
        if self.now is not self.start:
            self.go(self.start)

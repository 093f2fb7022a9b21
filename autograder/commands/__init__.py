"""One module per command of `autograder`; each has a click command called `command`."""

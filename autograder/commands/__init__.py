"""One module for each command of `autograder`, each with a click command called `command`."""

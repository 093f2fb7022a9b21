"""A whole class at once: its course directory, the workers, and one writer for the results."""

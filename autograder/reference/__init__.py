"""Answers of the course as plain modules, for measurements that only instructors run."""

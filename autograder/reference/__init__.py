"""The course's answers as plain modules, for measurements that only instructors run."""

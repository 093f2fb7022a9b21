"""Everything a student's notebook imports."""

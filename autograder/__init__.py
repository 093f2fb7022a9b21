"""What only instructors have."""

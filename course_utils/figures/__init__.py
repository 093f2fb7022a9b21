"""Pictures of the course, drawn by its own code, each with a text alternative."""

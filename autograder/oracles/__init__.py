"""Oracles of the exercises where a loop would be the answer: they never leave the instructor."""

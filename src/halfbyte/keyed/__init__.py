"""Randomness and order without state: hashes, and permutations that are computed instead of stored."""

"""The engine: hooks on what autograd saves, and one encoding for every tensor."""

"""Codecs of saved tensors: frozen values with `encode` and `decode`."""

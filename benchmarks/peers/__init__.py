"""halfbyte and the loaders that people would pick instead: a small file each, each in its own environment.

A peer is a module with its requirements at the top, and:

- ``LINK``: how it reads over the throttled link, in words, for the results;
- ``ARMS``: the ways of using it that are measured, each with the options that ``epoch`` takes for it;
- ``prepare(photos, out)``: converts a folder of class folders;
- ``epoch(task, **options)``: one epoch of batches, uint8 (B, 3, 224, 224), random resized crops, half of them
  flipped. NotImplementedError says that it cannot, and why.

Peers are run as ``python -m peers.serve NAME`` and never import one another's packages.
"""

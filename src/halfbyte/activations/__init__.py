"""Compressed activations: tensors saved for backward are held in fewer bytes until backward reads them."""

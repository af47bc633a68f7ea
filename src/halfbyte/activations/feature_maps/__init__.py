"""Maps on their way from layer to layer, in fewer bytes: at inference, in training, and between devices."""

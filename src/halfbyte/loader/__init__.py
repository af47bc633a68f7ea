"""Order, transforms and the three ways to iterate."""

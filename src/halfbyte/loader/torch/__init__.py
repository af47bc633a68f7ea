"""The two doors that need torch: `Loader` (threads) and `IterableDataset` (DataLoader workers)."""

"""Data sets of records: open, read, write, verify."""

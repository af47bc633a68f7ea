"""The `halfbyte` command."""

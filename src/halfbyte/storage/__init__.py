"""Where bytes live: ranges, atomic puts, lists."""

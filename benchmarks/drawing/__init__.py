"""Tables and pictures of what the benchmarks wrote."""

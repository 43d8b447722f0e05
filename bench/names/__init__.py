"""The benchmarks of bench/run, one file a subject."""

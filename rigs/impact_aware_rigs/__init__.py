"""Test rigs: faults, fuzz, probes, emulators of others' controllers and benchmarks. No product room imports them."""

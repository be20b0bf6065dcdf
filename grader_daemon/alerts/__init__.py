"""Detection of drops in quality: a sequential detector over streams of values, and its alarms combined into alerts."""

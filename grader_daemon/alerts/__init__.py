"""Detection of degradation: a sequential detector over streams of values, and how alarms are settled into alerts."""

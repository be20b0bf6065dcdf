"""What degrades: a sequential detector over streams of values, and how its alarms are settled into alerts."""

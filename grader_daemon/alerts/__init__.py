"""What degrades: a sequential detector over streams of values, and the policy that makes alerts of its alarms."""

"""What many grades say together. Pure: sums and counts in, insight out."""

"""Statistics over many grades: rates with ranges, error groups, next steps. Pure: it takes sums and counts."""

"""`Session` to `Analysis`: what happened, counted and named, without judging it."""

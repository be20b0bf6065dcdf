"""`Session` to `Analysis`: counts and names what happened, without judging it."""

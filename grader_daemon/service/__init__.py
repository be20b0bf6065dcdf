"""Services of this user that run by themselves: put in place, asked how they are, taken away."""

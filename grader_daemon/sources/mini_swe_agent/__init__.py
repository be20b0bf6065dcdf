"""mini-SWE-agent: the trajectories of its runs, and what an evaluation said of them."""

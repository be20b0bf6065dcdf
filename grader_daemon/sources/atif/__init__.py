"""ATIF, the format in which Harbor and others keep the run of any agent: one document for each run."""

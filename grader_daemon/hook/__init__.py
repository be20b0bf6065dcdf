"""The record held against an answer at the moment at which an agent wants to stop, told to the person or the agent."""

"""What the record says of an answer at the moment at which an agent wants to stop, told to the person or the agent."""

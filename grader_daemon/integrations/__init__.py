"""What is told to the outside."""

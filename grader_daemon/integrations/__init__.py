"""What is told to the outside, and to the service manager."""

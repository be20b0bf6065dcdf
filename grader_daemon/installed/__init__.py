"""What agents have installed and are set up with, as it lies on disk: read, never run, and links are not followed."""

"""The domain's values: frozen, importing only each other."""

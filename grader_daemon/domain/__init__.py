"""The nouns: frozen values that import nothing but each other."""

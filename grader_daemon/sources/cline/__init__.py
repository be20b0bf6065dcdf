"""Cline: sessions of its program, and tasks of its extension for editors and of those made from it, as Roo Code."""

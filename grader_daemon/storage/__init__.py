"""The program's database in SQLite: sessions, files, labels and alerts."""

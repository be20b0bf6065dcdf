"""Table of lists of sessions that a person named on the page."""

from __future__ import annotations

from grader_daemon.storage.sqlite.database import Table


class SavedViews(Table):
    """Queries of the lists that have a name; write inside a transaction."""

    def all(self) -> dict[str, str]:
        """Return the queries of all views, in the order of their names."""
        return dict(self._database.rows("SELECT name, query FROM saved_views ORDER BY name COLLATE NOCASE, name"))

    def save(self, name: str, query: str) -> None:
        """Keep a view under a name; one of that name is replaced."""
        self._database.connection.execute(
            "INSERT INTO saved_views (name, query) VALUES (:name, :query)"
            " ON CONFLICT (name) DO UPDATE SET query = excluded.query",
            {"name": name, "query": query},
        )

    def rename(self, old: str, name: str) -> None:
        """Change the name of a view into one that no other has."""
        self._database.connection.execute(
            "UPDATE saved_views SET name = :name WHERE name = :old", {"name": name, "old": old}
        )

    def remove(self, name: str) -> None:
        """Forget a view; what it listed stays."""
        self._database.connection.execute("DELETE FROM saved_views WHERE name = :name", {"name": name})

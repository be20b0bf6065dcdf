// The list by keys: one row is marked, and stays so when new ones come in above it.
const list = {};
list.rows = () => page.all("table.rows tbody tr");
list.marked = () => page.one("table.rows tr[aria-selected=true]");
list.mark = (by) => {
  const rows = list.rows();
  if (!rows.length) return;
  const now = rows.indexOf(list.marked());
  const next = rows[Math.min(rows.length - 1, Math.max(0, now < 0 ? 0 : now + by))];
  list.marked()?.removeAttribute("aria-selected");
  list.show(next);
};
// The entry of the browser's history remembers the row, so Back finds it again.
list.show = (row) => {
  row.setAttribute("aria-selected", "true");
  row.scrollIntoView({ block: "nearest" });
  history.replaceState({ ...history.state, marked: row.dataset.id }, "");
};
list.remembered = list.rows().find((row) => row.dataset.id && row.dataset.id === history.state?.marked);
if (list.remembered) list.show(list.remembered);
page.actions["next-row"] = () => list.mark(1);
page.actions["previous-row"] = () => list.mark(-1);
page.actions["open-row"] = () => {
  const row = list.marked();
  if (row) page.one("a", row).click();
  else document.activeElement.click();
};
page.actions["compare-row"] = () => page.one("input", list.marked() ?? document.createElement("p"))?.click();
page.actions["next-page"] = () => page.one("a.next")?.click();
page.actions["previous-page"] = () => page.one("a.previous")?.click();

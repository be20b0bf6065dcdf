// The palette: entries come once, sessions while one types; a command is copied.
const palette = { dialog: page.one("#palette"), entries: [], waiting: 0, shown: [], at: 0 };
palette.input = page.one("input", palette.dialog);
palette.list = page.one("[role=listbox]", palette.dialog);
palette.status = page.one("[role=status]", palette.dialog);

palette.ask = async (text) => {
  const address = new URL(palette.dialog.dataset.entries, location.href);
  if (text) address.searchParams.set("text", text);
  try {
    const answer = await fetch(address);
    return answer.ok ? await answer.json() : [];
  } catch {
    return [];
  }
};
palette.open = (text = "") => {
  if (page.one("dialog[open]")) return;
  palette.input.value = text;
  palette.status.textContent = "";
  palette.dialog.showModal();
  palette.type();
  palette.ready ??= palette.ask("").then((entries) => {
    palette.entries = entries;
    palette.type();
  });
};
palette.type = () => {
  const text = palette.input.value.trim();
  clearTimeout(palette.waiting);
  palette.show(text, []);
  if (text.length < 2) return;
  palette.waiting = setTimeout(async () => {
    const sessions = await palette.ask(text);
    if (palette.input.value.trim() === text) palette.show(text, sessions);
  }, 120);
};
palette.show = (text, sessions) => {
  const words = text.toLowerCase().split(/\s+/);
  const has = (each) => words.every((word) => `${each.kind} ${each.words} ${each.command ?? ""}`.toLowerCase().includes(word));
  const asked = encodeURIComponent(text);
  const searches = [["sessions", "sessions"], ["messages", "search"]]
    .map(([what, place]) => ({ kind: "search", words: `Search ${what} for “${text}”`, address: `/${place}?text=${asked}` }));
  palette.shown = [...palette.entries.filter(has).slice(0, 10), ...sessions, ...(text ? searches : [])];
  palette.list.replaceChildren(...palette.shown.map((each, place) => {
    const line = Object.assign(document.createElement("li"), { id: `palette-${place}`, role: "option" });
    const kind = Object.assign(document.createElement("span"), { className: "small", textContent: each.command ? "copy" : each.kind });
    const said = Object.assign(document.createElement("bdi"), { textContent: each.command ? `${each.command}: ${each.words}` : each.words });
    line.append(said, " ", kind);
    line.onclick = () => palette.choose(each);
    return line;
  }));
  palette.mark(0);
};
palette.mark = (place) => {
  const lines = [...palette.list.children];
  palette.at = lines.length ? (place + lines.length) % lines.length : 0;
  lines.forEach((line, number) => line.setAttribute("aria-selected", number === palette.at));
  lines[palette.at]?.scrollIntoView({ block: "nearest" });
  palette.input.setAttribute("aria-activedescendant", lines.length ? `palette-${palette.at}` : "");
};
palette.choose = async (entry) => {
  if (entry?.address) return location.assign(entry.address);
  if (entry) palette.status.textContent = await navigator.clipboard.writeText(entry.command).then(() => "Copied", () => "Not copied");
};
palette.input.oninput = palette.type;
palette.dialog.onkeydown = (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step) palette.mark(palette.at + step);
  else if (event.key === "Enter") palette.ready.then(() => palette.choose(palette.shown[palette.at]));
  else return;
  event.preventDefault();
};
palette.dialog.onclick = (event) => { if (event.target === palette.dialog) palette.dialog.close(); };
palette.field = page.one(".bar input[type=search]");
palette.field.onclick = palette.field.oninput = () => palette.open(palette.field.value);
palette.dialog.onclose = () => palette.field.blur();
page.actions.search = () => palette.open();
document.addEventListener("keydown", (event) => {
  if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  palette.open();
});

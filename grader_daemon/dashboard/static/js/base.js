// Keys, as the table of the page says; what a key does is registered by name in `page.actions`.
const page = { actions: {}, keys: JSON.parse(document.body.dataset.keys) };
page.one = (selector, within = document) => within.querySelector(selector);
page.all = (selector, within = document) => [...within.querySelectorAll(selector)];

page.typing = () => document.activeElement?.closest("input:not([type=checkbox]), select, textarea") ?? null;

page.actions.help = () => {
  const keys = page.one("#keys");
  keys.open ? keys.close() : keys.showModal();
};
page.one(".bar nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
page.one("#help").hidden = false;
page.one("#help").onclick = () => {
  page.menu.open = false;
  page.actions.help();
};
// Which of the two is shown, the style says, also while their menu is closed.
page.actions.theme = () => page.all(".theme button").find((each) => getComputedStyle(each).display !== "none")?.click();
page.menu = page.one(".menu");
document.addEventListener("click", (event) => { if (!page.menu.contains(event.target)) page.menu.open = false; });
page.menu.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  page.menu.open = false;
  page.one("summary", page.menu).focus();
});

// A form that asks sends no empty fields, and a scope that is chosen is asked for at once.
page.asks = (form) => page.all("input, select", form).filter((each) => each.name);
document.addEventListener("submit", (event) => {
  if (event.target.method === "get") for (const each of page.asks(event.target)) each.disabled = !each.value;
});
addEventListener("pageshow", () => page.all("form:not([method=post])").flatMap(page.asks).forEach((each) => { each.disabled = false; }));
page.all(".scope").forEach((form) => {
  page.all("button", form).forEach((each) => { each.hidden = true; });
  form.addEventListener("change", () => form.requestSubmit());
});

let begun = "";
let forgotten = 0;
const PATIENCE_MS = 1500;

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, select, textarea, [contenteditable]")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  clearTimeout(forgotten);
  const pressed = (begun && page.keys[`${begun} ${event.key}`]) ? `${begun} ${event.key}` : event.key;
  const action = page.keys[pressed];
  begun = "";
  if (!action) {
    if (Object.keys(page.keys).some((keys) => keys.startsWith(`${event.key} `))) {
      begun = event.key;
      forgotten = setTimeout(() => { begun = ""; }, PATIENCE_MS);
    }
    return;
  }
  if (page.one("dialog[open]") && action !== "help") return;
  if (action.startsWith("/")) location.assign(action);
  else if (page.actions[action]) page.actions[action](event);
  else return;
  event.preventDefault();
});

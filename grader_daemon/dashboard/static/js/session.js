// A session: jump between what was found, open what is folded, click into the map.
const session = {
  unfold: (message) => {
    page.all("details", message).forEach((each) => { each.open = true; });
    message.scrollIntoView({ block: "start" });
    message.focus({ preventScroll: true });
  },
  jump: (step) => {
    const found = page.all(".said[data-finding]");
    const top = (each) => each.getBoundingClientRect().top;
    const line = parseFloat(getComputedStyle(document.documentElement).scrollPaddingTop);
    const ahead = step > 0 ? found.filter((each) => top(each) > line + 2) : found.filter((each) => top(each) < line - 2).reverse();
    const here = found.indexOf(document.activeElement);
    const next = here < 0 ? ahead[0] : found[here + step];
    if (next) session.unfold(next);
    else page.one(`[data-go=${step > 0 ? "next" : "previous"}-finding]`)?.click();
  },
  step: (by) => {
    const all = page.all(".said");
    const here = all.indexOf(document.activeElement?.closest(".said"));
    const next = all[here < 0 ? 0 : here + by];
    next?.scrollIntoView({ block: "start" });
    next?.focus({ preventScroll: true });
  },
  // Which message stands at a point of the map; none right of the last one.
  under: (map, event) => {
    const box = map.getBoundingClientRect();
    const { messages, part } = map.dataset;
    const index = Math.floor((event.clientX - box.left) / box.width / part * messages);
    return index < messages ? index : null;
  },
  open: () => {
    const folded = page.all(".said details");
    const open = folded.some((each) => !each.open);
    folded.forEach((each) => { each.open = open; });
  },
  arrive: () => {
    const message = /^#m\d+$/.test(location.hash) && page.one(location.hash);
    if (message) session.unfold(message);
  },
};
page.actions["next-finding"] = () => session.jump(1);
page.actions["previous-finding"] = () => session.jump(-1);
page.actions["next-message"] = () => session.step(1);
page.actions["previous-message"] = () => session.step(-1);
page.actions.unfold = session.open;
page.actions.failures = () => page.one("[data-go=failures]")?.click();
addEventListener("hashchange", session.arrive);
session.arrive();
document.addEventListener("click", (event) => {
  const map = event.target.closest(".map");
  if (!map || event.target.closest("a")) return;
  const index = session.under(map, event);
  if (index === null) return;
  const size = map.dataset.page;
  if (page.one(`#m${index}`)) location.hash = `m${index}`;
  else location.assign(`?from=${index - index % size}#m${index}`);
});
document.addEventListener("mousemove", (event) => {
  const map = event.target.closest(".map");
  if (!map || event.target.closest("a")) return;
  const index = session.under(map, event);
  const words = index === null ? "Map of the session" : page.one(`#m${index}`)?.getAttribute("aria-label") ?? `Message ${index}`;
  const title = page.one("title", map);
  if (title.textContent !== words) title.textContent = words;
});
// A link to a text copies it; where that is not allowed it is opened, as without a script.
document.addEventListener("click", async (event) => {
  const link = event.target.closest("[data-copy]");
  if (!link || !navigator.clipboard) return;
  event.preventDefault();
  try {
    await navigator.clipboard.writeText(link.dataset.copy || await (await fetch(link.href)).text());
    link.textContent = "Copied";
  } catch {
    location.assign(link.href);
  }
});

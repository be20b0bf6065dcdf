// A page that is looked at hears when something changed, and asks for itself again: regions marked `data-live` are replaced.
// The answer is parsed by the browser as a document in which no script runs; one tab has one stream, a hidden one has none.
const live = { stream: null, asking: null, again: false, mark: document.body.dataset.mark };

live.regions = (within = document) => page.all("[data-live]", within);
live.say = (state) => {
  const shown = page.one(".live");
  shown.hidden = false;
  shown.dataset.liveState = state;
  page.one("[role=status]", shown).textContent = state === "on" ? "live" : "not live";
};

live.replace = (fresh) => {
  for (const old of live.regions()) {
    const name = old.dataset.live;
    const now = live.regions(fresh).find((each) => each.dataset.live === name);
    // The token of a form is another text on each page; the one that is here stays good.
    const token = page.one("[name=form_token]", old);
    if (token && now) for (const each of page.all("[name=form_token]", now)) each.setAttribute("value", token.getAttribute("value"));
    if (!now || old.isEqualNode(now) || old.contains(page.typing())) continue;
    const known = new Set(page.all("[data-id]", old).map((row) => row.dataset.id));
    const chosen = new Set(page.all("[aria-selected=true], :checked", old).map(live.identity));
    const put = document.importNode(now, true);
    for (const row of page.all("[data-id]", put)) if (!known.has(row.dataset.id)) row.classList.add("fresh");
    const folded = page.all("details", put);
    page.all("details", old).forEach((each, place) => {
      if (folded[place]?.closest("[id]")?.id === each.closest("[id]")?.id) folded[place]?.toggleAttribute("open", each.open);
    });
    old.replaceWith(put);
    for (const each of page.all("[data-id], input[type=checkbox]", put)) {
      if (!chosen.has(live.identity(each))) continue;
      if (each.matches("input")) each.checked = true;
      else each.setAttribute("aria-selected", "true");
    }
  }
  document.dispatchEvent(new Event("replaced"));
};
live.identity = (each) => (each.matches("input") ? `input ${each.value}` : `row ${each.dataset.id}`);

// Ask for the page at the address of now; null where it cannot be had.
live.load = (then) => {
  const asking = new XMLHttpRequest();
  asking.open("GET", location.href);
  asking.responseType = "document";
  asking.onloadend = () => then(asking.status === 200 ? asking.response : null);
  asking.send();
  return asking;
};

live.refresh = () => {
  if (live.asking) {
    live.again = true;
    return;
  }
  const begun = performance.now();
  const asked = location.search;
  live.again = false;
  live.asking = live.load((fresh) => {
    if (fresh && page.one("[data-live=whole]")) location.reload();
    else if (fresh && asked === location.search) {
      live.mark = fresh.body.dataset.mark;
      live.replace(fresh);
    }
    // A page that takes long is asked for less often: a fifth of the time at most goes into it.
    setTimeout(() => {
      live.asking = null;
      if (live.again) live.refresh();
    }, 4 * (performance.now() - begun));
  });
};

live.open = () => {
  if (live.stream || document.hidden || !live.regions().length) return;
  live.stream = new EventSource(`/events?after=${encodeURIComponent(live.mark)}`);
  live.stream.onopen = () => live.say("on");
  live.stream.onerror = () => {
    live.say("off");
    if (live.stream?.readyState !== EventSource.CLOSED) return;
    live.close(); // it was refused, as when too many look: the browser does not try again by itself
    setTimeout(live.open, 10_000);
  };
  live.stream.addEventListener("change", (event) => { if (event.lastEventId !== live.mark) live.refresh(); });
};
live.close = () => {
  live.stream?.close();
  live.stream = null;
};
document.addEventListener("visibilitychange", () => (document.hidden ? live.close() : live.open()));
addEventListener("pagehide", live.close);
addEventListener("pageshow", live.open);
// Ages go on, and whether the daemon runs no change tells.
setInterval(() => { if (live.stream) live.refresh(); }, 60_000);

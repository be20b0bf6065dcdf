// Words in a session: while one types, the messages that have them stand in place of all, each word marked.
// The address says what is looked for, so what is live and Back lead to the same.
const find = { input: page.one(".within [name=find]"), waiting: 0, asking: null, asked: "", shown: "", at: 0 };
find.words = () => find.input.value.trim();
find.hits = () => page.all(".talk .said");
find.said = page.one("#found");

find.ask = () => {
  clearTimeout(find.waiting);
  find.asking?.abort();
  const words = find.asked = find.words();
  history.replaceState(null, "", words ? `?find=${encodeURIComponent(words)}` : find.home);
  find.asking = live.load((fresh) => {
    if (!fresh) return;
    find.shown = words;
    live.replace(fresh);
    find.count = find.said.textContent = page.one("#found", fresh).textContent;
    if (words) find.input.closest(".within").scrollIntoView();
    find.at = 0;
  });
};
// Where words stand in a message: also over what is bold, or coloured, in parts.
find.ranges = (message) => {
  const walker = document.createTreeWalker(message, NodeFilter.SHOW_TEXT);
  const starts = [];
  let all = "";
  while (walker.nextNode()) {
    starts.push([all.length, walker.currentNode]);
    all += walker.currentNode.data;
  }
  const lower = all.toLowerCase();
  const sought = find.shown.toLowerCase();
  const ranges = [];
  if (lower.length !== all.length) return ranges; // a letter that has another length so would move all behind it
  for (let at = lower.indexOf(sought); at >= 0; at = lower.indexOf(sought, at + sought.length)) {
    const range = new Range();
    for (const [where, place] of [["setStart", at], ["setEnd", at + sought.length]]) {
      const [start, text] = starts.findLast(([each]) => (where === "setStart" ? each <= place : each < place));
      range[where](text, place - start);
    }
    ranges.push(range);
  }
  return ranges;
};
find.mark = () => {
  const ranges = find.shown ? find.hits().flatMap(find.ranges) : [];
  for (const range of ranges) {
    for (let each = range.startContainer.parentElement; each; each = each.parentElement) if (each.matches("details")) each.open = true;
  }
  globalThis.CSS?.highlights?.set("found", new Highlight(...ranges));
};
find.go = (by) => {
  const hits = find.hits();
  if (!hits.length) return;
  hits[find.at]?.removeAttribute("aria-current");
  find.at = (find.at + by + hits.length) % hits.length;
  hits[find.at].setAttribute("aria-current", "true");
  hits[find.at].scrollIntoView({ block: "start" });
  find.said.textContent = `Hit ${find.at + 1} · ${find.count}`;
};
if (find.input) {
  find.shown = find.asked = find.words();
  find.home = location.pathname + (find.shown ? "" : location.search);
  find.count = find.said.textContent;
  find.input.oninput = () => {
    clearTimeout(find.waiting);
    if (find.words().length !== 1) find.waiting = setTimeout(find.ask, 150);
  };
  find.input.onkeydown = (event) => {
    if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault();
    if (find.words() !== find.asked) find.ask();
    else if (find.shown && find.shown === find.asked) find.go(event.shiftKey ? -1 : 1);
  };
  document.addEventListener("replaced", find.mark);
  find.mark();
}
page.actions.find = () => find.input?.focus();

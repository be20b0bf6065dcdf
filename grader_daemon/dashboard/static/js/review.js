// The review by keys: quality first if one likes, then yes or no.
for (const [action, selector] of [["answer-yes", "#yes"], ["answer-no", "#no"], ["skip", "#skip"], ["undo", "#undo"], ["whole", "#whole"]]) {
  page.actions[action] = (event) => event.repeat || page.one(selector)?.click();
}
for (const score of [1, 2, 3, 4, 5]) page.actions[`quality-${score}`] = () => page.one(`[name=quality][value="${score}"]`)?.click();

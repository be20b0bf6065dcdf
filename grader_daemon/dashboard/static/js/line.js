// The line of filters completes its last word, from the words it knows and the values that the forms offer.
const line = { input: page.one("[list=line-words]") };
line.quoted = (value) => /[\s"]/.test(value) ? `"${value.replace(/["\\]/g, "\\$&")}"` : value;
line.complete = () => {
  const begun = line.input.value.split(/\s/).at(-1);
  const before = line.input.value.slice(0, line.input.value.length - begun.length);
  const found = line.offers.filter((each) => each.toLowerCase().startsWith(begun.toLowerCase())).slice(0, 40);
  line.input.list.replaceChildren(...found.map((each) => Object.assign(document.createElement("option"), { value: before + each })));
};
if (line.input) {
  const values = page.all(".filters select, .scope select").flatMap((select) => [...select.options]
    .filter((each) => each.value).map((each) => `${select.name}:${line.quoted(each.value)}`));
  line.offers = [...[...line.input.list.options].map((each) => each.value), ...values];
  line.input.oninput = line.complete;
}

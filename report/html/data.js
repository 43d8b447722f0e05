// The page's data, as report/html/html_data.cc writes it, and small helpers that make elements.
// Nothing that came from a process ever becomes markup: text is set, never parsed.
const data = JSON.parse(document.getElementById("data").textContent);
const text = (id) => data.texts[id];

const PRESENCE = ["read", "read in part", "not read", "not there", "dead"];
const MARK = { holdsGil: 2, wantsGil: 4, decides: 8, idle: 16 };
const COLORS = ["#56b4e9", "#e69f00", "#009e73", "#cc79a7", "#f0e442", "#9ab0c4", "#b7a99a", "#8fc1a9"];
const CULPRIT = "#ff9a5c";

const ranks = data.ranks.map((row, index) => ({
  index, rank: row[0], host: text(row[1]), pid: row[2], local: row[3], group: row[4], state: row[5],
  presence: row[6], why: text(row[7]), phase: text(row[8]), motion: text(row[9]),
  coordinates: text(row[10]),
}));
const rankName = (rank) => rank.rank < 0 ? `pid ${rank.pid}` : `rank ${rank.rank}`;
const isCulprit = (rank) => data.verdict.culprits.some(([number, host, pid]) =>
  number >= 0 ? number === rank.rank : pid === rank.pid && host === rank.host);
const groupLetter = (at) => at < 26 ? String.fromCharCode(65 + at) : `${at + 1}`;
const groupColor = (at) => at < 0 ? "#ddd" : data.groups[at].culprit ? CULPRIT : COLORS[at % COLORS.length];

const framesOf = (stack) => data.stacks[stack].map((code) => {
  const [name, place, kind] = data.frames[code >> 1];
  return { name: text(name), place: text(place), kind, hidden: (code & 1) === 1 };
});

// Makes an element: make("td", {class: "soft"}, "text", child, ...)
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children.filter((child) => child !== null && child !== ""));
  return element;
}

function draw(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// "0-4,6" -> a test for numbers; null if the text is not a set of ranks.
function rankSet(words) {
  if (!/^[\d,\s-]+$/.test(words) || !/\d/.test(words)) return null;
  const ranges = words.split(",").filter((part) => part.trim() !== "").map((part) => {
    const [low, high] = part.split("-").map((number) => parseInt(number, 10));
    return [low, Number.isNaN(high) || high === undefined ? low : high];
  });
  return (number) => ranges.some(([low, high]) => low <= number && number <= high);
}

// Makes a table of frames, innermost first. Folded frames are in it, but hidden.
// `locals`: [[frame of the stack, words], ...].
function stackTable(stack, locals = []) {
  const wordsOf = new Map(locals);
  return make("table", { class: "stack" }, ...framesOf(stack).map((frame, at) =>
    make("tr", { class: `${frame.hidden ? "hidden-frame " : ""}${frame.kind === "u" ? "user" : ""}` },
      make("td", {}, frame.name), make("td", { class: "soft" }, frame.place),
      make("td", { class: "soft" }, wordsOf.has(at) ? text(wordsOf.get(at)) : ""))));
}

// The page's data, as report/html/html_data.cc writes it, and small helpers that make elements.
// Nothing that came from a process ever becomes markup: text is set, never parsed.
const data = JSON.parse(document.getElementById("data").textContent);
const text = (id) => data.texts[id];

const PRESENCE = ["read", "read in part", "not read", "not there", "dead"];
const MARK = { holdsGil: 2, wantsGil: 4, decides: 8, idle: 16 };
const COLORS = ["#56b4e9", "#e69f00", "#009e73", "#cc79a7", "#f0e442", "#9ab0c4", "#b7a99a", "#8fc1a9"];
// What a rank has to do with the hang: as Role of aggregate/symmetry/fold_groups.h, and ranks that were not read.
const ROLES = [
  { name: "elsewhere", color: "#c9ced6", words: "waits for no root" },
  { name: "root", color: "#ff9a5c", words: "the root: holds the others up" },
  { name: "direct", color: "#f0e442", words: "waits for the root directly" },
  { name: "indirect", color: "#56b4e9", words: "waits for it by way of others" },
  { name: "unread", color: "#ddd", words: "not read" },
];
const ROOT = 1;
if (data.verdict.kind === "link_stall") {
  ROLES[0].words = "does not wait for the link";
  ROLES[ROOT].words = "at an end of the link";
  ROLES[2].words = "waits for the link";
}
const UNREAD = 4;

const ranks = data.ranks.map((row, index) => ({
  index, rank: row[0], host: text(row[1]), pid: row[2], local: row[3], group: row[4], state: row[5],
  presence: row[6], why: text(row[7]), phase: text(row[8]), motion: text(row[9]),
  coordinates: text(row[10]), role: row[11] !== ROOT && row[6] > 1 ? UNREAD : row[11],
  label: text(row[12]),
}));
const rankName = (rank) => rank.rank >= 0 ? `rank ${rank.rank}`
  : rank.label === "" ? `pid ${rank.pid}` : `${rank.label} (pid ${rank.pid})`;
const isCulprit = (rank) => data.verdict.culprits.some(([number, host, pid]) =>
  number >= 0 ? number === rank.rank : pid === rank.pid && host === rank.host);
const groupLetter = (at) => at < 26 ? String.fromCharCode(65 + at) : `${at + 1}`;
// A group has the colour of its ranks' role; if they have several, of the one that is nearest to the root.
const roleOfGroup = data.groups.map(() => 0);
for (const rank of ranks) {
  const known = roleOfGroup[rank.group];
  if (rank.group >= 0 && rank.role !== UNREAD && rank.role > 0 && (known === 0 || rank.role < known)) {
    roleOfGroup[rank.group] = rank.role;
  }
}
const groupColor = (at) => ROLES[at < 0 ? UNREAD : roleOfGroup[at]].color;

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

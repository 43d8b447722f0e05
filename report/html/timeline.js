// What ranks did at each sample and between samples: a table with one row for the ranks of a group that
// did the same. A place has the letter and colour of the group that is there now; a place where no rank
// is any more has a small letter.
const STATE = { R: "runs", S: "sleeps", D: "waits in the kernel", T: "is stopped", t: "is traced", Z: "is dead", X: "is dead" };
const timeline = data.timeline;
const timelineRows = timeline.rows.map(([set, count, first, moved, samples, steps]) => ({
  set, count, rank: ranks[first], moved: moved === 1, samples, steps, has: rankSet(set), element: null,
}));

// The letter and colour of each place.
const placeMarks = timeline.places.map(() => null);
function markPlaces() {
  for (const row of timelineRows) {
    const place = row.samples[row.samples.length - 1][0];
    if (row.rank.group >= 0) placeMarks[place] ??= [groupLetter(row.rank.group), groupColor(row.rank.group)];
  }
  let others = 0;
  placeMarks.forEach((mark, place) => {
    if (mark !== null) return;
    const letter = others < 26 ? String.fromCharCode(97 + others) : `p${others + 1}`;
    placeMarks[place] = [letter, COLORS[(data.groups.length + others) % COLORS.length]];
    others += 1;
  });
}

const timeWords = (us) => us < 1000 ? `${us} µs` : us < 1e6 ? `${Math.round(us / 1000)} ms` : `${(us / 1e6).toFixed(1)} s`;
const rangeWords = (least, most) => least === most ? least : `${least} to ${most}`;

function stepElement([cpuLeast, cpuMost, wakesLeast, wakesMost]) {
  return make("td", { class: "soft step" },
    cpuMost === 0 ? "no CPU" : `${rangeWords(timeWords(cpuLeast), timeWords(cpuMost))} of CPU`, make("br"),
    wakesMost === 0 ? "never woke" : `woke ${rangeWords(wakesLeast, wakesMost)} ${wakesMost === 1 ? "time" : "times"}`);
}

function lookElement(row, at) {
  const [place, states] = row.samples[at];
  const [stack, words] = timeline.places[place];
  // If two groups are at one place (one of them stopped there, say), each row shows its own group.
  const now = place === row.samples[row.samples.length - 1][0] && row.rank.group >= 0;
  const [letter, color] = now ? [groupLetter(row.rank.group), groupColor(row.rank.group)] : placeMarks[place];
  const state = [...states].map((one) => `${one} ${STATE[one] ?? "in an unknown state"}`).join(", ");
  const where = make("div", { class: "sample" }, make("span", { class: "cell", style: `background:${color}` }, letter));
  if (at > 0 && row.samples[at - 1][0] === place) {
    where.append("same place");
  } else if (text(words) === "") {
    where.append("no stack was read");
  } else {
    const details = make("details", {}, make("summary", {}, text(words)));
    details.addEventListener("toggle", () => {
      if (details.open && details.children.length === 1) details.append(stackTable(stack));
    });
    where.append(details);
  }
  return make("td", {}, where, make("div", { class: "soft" }, state));
}

function rowElement(row, shown) {
  const open = make("button", { type: "button", class: "link" },
    row.set === "" ? rankName(row.rank) : `${row.count === 1 ? "rank" : "ranks"} ${row.set}`);
  open.addEventListener("click", () => {
    selectRank(row.rank.index);
    document.getElementById("rank").scrollIntoView({ block: "nearest" });
  });
  const facts = [row.moved ? "moved" : "at one place"];
  if (row.set === "" && row.count > 1) facts.push(`and ${row.count - 1} more`);
  const missing = shown - row.samples.length;
  if (missing > 0) facts.push(`read in ${row.samples.length} of ${timeline.samples} samples`);
  const cells = [];
  for (let at = 0; at < missing; ++at) {
    cells.push(make("td", { class: "soft" }, "not read"), make("td", { class: "soft step" }, "not known"));
  }
  row.samples.forEach((_, at) => {
    if (at > 0) cells.push(stepElement(row.steps[at - 1]));
    cells.push(lookElement(row, at));
  });
  row.element = make("tr", { class: row.moved ? "moved" : "" },
    make("th", { scope: "row" }, open, make("div", { class: row.moved ? "decides" : "soft" }, facts.join(", ")),
      make("div", { class: "soft" }, row.rank.phase)),
    ...cells);
  return row.element;
}

function timelineWords() {
  const { samples, read, moved } = timeline;
  const all = read === 1 ? "The rank that was read" : `All ${read} ranks that were read`;
  const each = samples === 2 ? "both samples" : `all ${samples} samples`;
  if (samples < 2) return "There is only one sample, so nothing is known about what moves.";
  if (timeline.equal) return `${all} were at the same place in ${each}, used no CPU and never woke in between.`;
  if (moved === 0) return `${all} were at the same place in ${each}.`;
  return `${moved} of ${read} ranks that were read moved between the ${samples} samples.`;
}

function showTimeline() {
  document.getElementById("timeline").hidden = timeline.samples === 0;
  document.getElementById("timeline-words").textContent = timelineWords();
  const target = document.getElementById("timeline-rows");
  target.hidden = timelineRows.length === 0;
  if (timelineRows.length === 0) return;
  markPlaces();
  const shown = Math.max(...timelineRows.map((row) => row.samples.length));
  const heads = [make("th", { scope: "col" }, "Ranks")];
  for (let sample = timeline.samples - shown + 1; sample <= timeline.samples; ++sample) {
    heads.push(make("th", { scope: "col" }, sample === timeline.samples ? `Sample ${sample}, the last` : `Sample ${sample}`));
    if (sample < timeline.samples) heads.push(make("th", { scope: "col", class: "step" }, "between"));
  }
  target.append(make("table", { class: "timeline" }, make("thead", {}, make("tr", {}, ...heads)),
    make("tbody", {}, ...timelineRows.map((row) => rowElement(row, shown)))));
  if (timeline.left > 0) {
    target.append(make("p", { class: "soft" },
      `${timeline.left} more ranks each did something different; open one to see what it does now.`));
  }
}

// Hides rows without a rank that the filter keeps.
function filterTimeline() {
  const kept = ranks.filter(shownRanks);
  for (const row of timelineRows) {
    row.element.hidden = kept.length < ranks.length &&
      !(row.has === null ? shownRanks(row.rank) : kept.some((rank) => row.has(rank.rank)));
  }
}

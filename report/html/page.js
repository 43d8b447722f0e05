// Shows the first screen in words, and starts everything.

// Returns the links of the chain. If five or more are alike, as in a pipeline, a click opens those between the first
// and the last.
function foldedLinks(on, links) {
  const shown = [];
  for (let begin = 0, end; begin < links.length; begin = end) {
    end = begin + 1;
    while (end < links.length && on[end] === on[begin]) ++end;
    const alike = links.slice(begin, end);
    if (alike.length < 5) {
      shown.push(...alike);
      continue;
    }
    const between = alike.slice(1, -1);
    shown.push(alike[0], make("li", {}, make("details", {}, make("summary", {}, `${between.length} more links like this`),
      make("ol", {}, ...between))), alike.at(-1));
  }
  return shown;
}

function showVerdict() {
  const verdict = data.verdict;
  const kind = document.getElementById("kind");
  kind.append(make("span", {}, verdict.kind),
    verdict.confidence === "none" || verdict.confidence === "certain" ? "" : ` ${verdict.confidence}`);
  if (verdict.tone !== "") kind.classList.add(verdict.tone);
  const coverage = data.coverage;
  document.getElementById("coverage").textContent = coverage.words;
  const party = (who) => /^[\d,-]+$/.test(who) ? `${/[,-]/.test(who) ? "ranks" : "rank"} ${who}` : who;
  const chain = verdict.chain.map(([who, whom, on, evidence]) => make("li", {},
    `${party(who)} ${/^\d+[,-]/.test(who) ? "wait" : "waits"} for `, make("strong", {}, party(whom)), `: ${on}`,
    evidence === "" ? "" : make("span", { class: "soft" }, ` [${evidence}]`)));
  document.getElementById("chain").append(...foldedLinks(verdict.chain.map(([, , on]) => on), chain));
  document.getElementById("also").append(...verdict.also.map(([what, summary]) =>
    make("p", { class: "bad" }, `Also ${what}: ${summary}`)));
  document.getElementById("unread").append(...coverage.unread.map(([label, set, host, why]) =>
    make("p", { class: "bad" }, `${label}: ${party(set)}${host === "" ? "" : ` (${host})`}: ${why}`)));
  if (data.since.length > 0) {
    const [[, apart], ...rows] = data.since;
    document.getElementById("since").append(make("h2", {}, `Since the capture ${apart} before`),
      make("ul", {}, ...rows.map(([set, words]) => make("li", {}, `${party(set)}: ${words}`))));
  }
  document.getElementById("advice").append(...verdict.advice.map((words) => make("li", {}, words)));
  const doubts = document.getElementById("doubts");
  const list = (title, rows) => {
    if (rows.length === 0) return;
    doubts.append(make("h2", {}, title), make("ul", {}, ...rows.map((words) => make("li", { class: "soft" }, words))));
  };
  list("What would show that this is wrong", verdict.disproves);
  list("Also considered", verdict.alternatives.map(([what, summary, why]) => `${what}: ${summary}. Why not: ${why}`));
  list("Notes", data.notes);
}

function showGroups() {
  data.groups.forEach((group, at) => {
    const title = group.ranks === "" ? group.phase :
      `${group.count === 1 ? "rank" : `${group.count} ranks:`} ${group.ranks}`;
    document.getElementById("groups").append(make("div", { class: `group${group.culprit ? " culprit" : ""}`, "data-group": at },
      make("h3", {}, make("span", { class: "cell", style: `background:${groupColor(at)}` }, groupLetter(at)),
        ` ${title} `, make("span", { class: "soft" }, group.hosts)),
      make("p", {}, group.phase),
      ...group.differ.map((words) => make("p", { class: "bad" }, words)),
      stackTable(group.stack),
      ...group.awaited.flatMap(([what, stuck, stack]) =>
        [make("h4", {}, stuck === "" ? what : `${what}: `, make("span", { class: "soft" }, stuck)), stackTable(stack)])));
  });
}

document.querySelector("main").hidden = false;
showVerdict();
showWaits();
showGrid();
showLegend();
showTimeline();
showCalls();
showStores();
showGroups();
showStacks();
listenToRanks();
listenToStacks();
listenToGroups();
listenToFrame();
const odd = ranks.find(isCulprit) ?? (ranks.length === 1 ? ranks[0] : undefined);
if (odd !== undefined) {
  selectRank(odd.index);
  const row = cells[odd.index].closest(".block") ?? cells[odd.index].parentElement;
  const [place, here] = [row.getBoundingClientRect(), grid.getBoundingClientRect()];
  grid.scrollTop += place.top - here.top - (row.matches(".block") ? 4 : place.height * 3);
}
document.getElementById("footer").textContent = `oddrank ${data.version}`;

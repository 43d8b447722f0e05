// The grid of ranks (host by host, coloured and lettered by group), the filter and the selection.
const grid = document.getElementById("grid");
const cells = [];
let shownRanks = () => true;  // whether the filter keeps a rank

function showGrid() {
  const hosts = new Map();
  for (const rank of ranks) {
    if (!hosts.has(rank.host)) hosts.set(rank.host, []);
    hosts.get(rank.host).push(rank);
  }
  for (const [host, here] of hosts) {
    here.sort((a, b) => (a.local - b.local) || (a.rank - b.rank));
    const row = make("div", { class: "row", role: "row" },
      make("span", { class: "host", role: "rowheader", title: host }, host === "" ? "unknown host" : host));
    for (const rank of here) {
      const letter = rank.group < 0 ? "?" : groupLetter(rank.group);
      const words = `${rankName(rank)}${rank.coordinates === "" ? "" : ` (${rank.coordinates})`} on ${host}: ${rank.presence > 1 ? PRESENCE[rank.presence] : rank.phase}`;
      const classes = ["cell"];
      if (isCulprit(rank)) classes.push("culprit");
      if (rank.presence > 1) classes.push("unread");
      const cell = make("button", {
        type: "button", role: "gridcell", class: classes.join(" "), title: words, tabindex: "-1",
        "aria-label": `${words}, group ${letter}`, "data-rank": rank.index,
        style: `background:${groupColor(rank.group)}`,
      }, `${isCulprit(rank) ? "!" : ""}${rank.rank < 0 ? rank.pid : rank.rank}${letter}`);
      cells[rank.index] = cell;
      row.append(cell);
    }
    grid.append(row);
  }
  if (cells.length > 0) cells[0].tabIndex = 0;
}

function moveFocus(from, key) {
  const row = from.parentElement;
  const inRow = [...row.querySelectorAll(".cell")];
  const at = inRow.indexOf(from);
  const beside = (row, way) => {
    do row = row[way]; while (row !== null && row.hidden);
    return row?.querySelectorAll(".cell")[at];
  };
  const next = {
    ArrowRight: () => inRow[at + 1],
    ArrowLeft: () => inRow[at - 1],
    Home: () => inRow[0],
    End: () => inRow[inRow.length - 1],
    ArrowDown: () => beside(row, "nextElementSibling"),
    ArrowUp: () => beside(row, "previousElementSibling"),
  }[key]?.();
  if (next === undefined) return false;
  from.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
  return true;
}

function showLegend() {
  const legend = document.getElementById("legend");
  data.groups.forEach((group, at) => legend.append(make("li", {},
    make("span", { class: `cell${group.culprit ? " culprit" : ""}`, style: `background:${groupColor(at)}` },
      groupLetter(at)),
    `${group.count} × ${group.phase}`)));
  if (ranks.some((rank) => rank.presence > 1)) {
    legend.append(make("li", {}, make("span", { class: "cell unread" }, "?"), "not read"));
  }
}

// Makes a filter from a rank set, coordinates ("tp1", "tp1 pp0"), or words to find in the host, the
// phase and the frames of the rank's group.
function filterFor(words) {
  const wanted = words.trim().toLowerCase();
  if (wanted === "") return () => true;
  const numbers = rankSet(wanted);
  if (numbers !== null) return (rank) => numbers(rank.rank);
  const groups = data.groups.map((group) => framesOf(group.stack).some((frame) =>
    `${frame.name} ${frame.place}`.toLowerCase().includes(wanted)));
  return (rank) => rank.host.toLowerCase().includes(wanted) || rank.phase.toLowerCase().includes(wanted) ||
    ` ${rank.coordinates.toLowerCase()} `.includes(` ${wanted} `) ||
    (rank.group >= 0 && groups[rank.group]);
}

function applyFilter(words) {
  shownRanks = filterFor(words);
  let kept = 0;
  for (const rank of ranks) {
    const keep = shownRanks(rank);
    kept += keep ? 1 : 0;
    cells[rank.index].classList.toggle("off", !keep);
  }
  // Hide hosts without a rank that is kept.
  for (const row of grid.children) row.hidden = row.querySelector(".cell:not(.off)") === null;
  document.getElementById("filter-count").textContent =
    words.trim() === "" ? "" : `${kept} of ${ranks.length} ranks`;
  filterTimeline();
  showStacks();
}

function selectRank(index) {
  for (const cell of grid.querySelectorAll("[aria-selected]")) cell.removeAttribute("aria-selected");
  cells[index].setAttribute("aria-selected", "true");
  showRank(ranks[index]);
}

function listenToRanks() {
  grid.addEventListener("click", (event) => {
    const cell = event.target.closest("[data-rank]");
    if (cell !== null) selectRank(Number(cell.dataset.rank));
  });
  grid.addEventListener("keydown", (event) => {
    if (event.target.matches(".cell") && moveFocus(event.target, event.key)) event.preventDefault();
  });
  document.getElementById("filter").addEventListener("input", (event) => applyFilter(event.target.value));
  document.getElementById("filter-form").addEventListener("submit", (event) => event.preventDefault());
}

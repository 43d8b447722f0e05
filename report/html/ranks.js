// The grid of ranks, coloured by their role, the filter and the selection. The grid has the layout of the job
// (blocks of rows of columns, by its dimensions); if that is not known, a row for each host.
const grid = document.getElementById("grid");
const cells = [];
let shownRanks = () => true;  // whether the filter keeps a rank

const MOST_NUMBERED = 256;  // ranks; cells of more in a known layout are too small for numbers

function cellElement(rank, numbered) {
  const where = rank.host === "" ? "" : ` on ${rank.host}`;
  const words = `${rankName(rank)}${rank.coordinates === "" ? "" : ` (${rank.coordinates})`}${where}: ${rank.presence > 1 ? PRESENCE[rank.presence] : rank.phase}`;
  const classes = ["cell", ROLES[rank.role].name];
  if (isCulprit(rank)) classes.push("culprit");
  if (rank.presence > 1) classes.push("unread");
  const cell = make("button", {
    type: "button", role: "gridcell", class: classes.join(" "), title: words, tabindex: "-1",
    "aria-label": `${words}; ${ROLES[rank.role].words}`, "data-rank": rank.index,
  }, `${rank.role === ROOT ? "!" : ""}${numbered ? (rank.rank < 0 ? rank.pid : rank.rank) : ""}`);
  cells[rank.index] = cell;
  return cell;
}

function gridRow(title, here, numbered) {
  return make("div", { class: "row", role: "row" },
    make("span", { class: "host", role: "rowheader", title }, title), ...here.map((rank) => cellElement(rank, numbered)));
}

function hostRows() {
  const hosts = new Map();
  for (const rank of ranks) {
    if (!hosts.has(rank.host)) hosts.set(rank.host, []);
    hosts.get(rank.host).push(rank);
  }
  return [...hosts].map(([host, here]) => gridRow(host === "" ? "unknown host" : host,
    here.sort((a, b) => (a.local - b.local) || (a.rank - b.rank)), true));
}

// The fastest dimension is a row's cells, the next one a block's rows, and all others number the blocks.
function meshBlocks({ names, sizes, order }) {
  const at = [];
  order.forEach((place, index) => { at[place] = ranks[index]; });
  const [height, width] = sizes.slice(-2);
  const numbered = ranks.length <= MOST_NUMBERED;
  const blocks = [];
  for (let first = 0; first < at.length; first += height * width) {
    let rest = blocks.length;
    const title = names.slice(0, -2).map((name, axis) => [name, sizes[axis]]).reverse().map(([name, size]) => {
      const place = rest % size;
      rest = (rest - place) / size;
      return `${name}${place}`;
    }).reverse().join(" ");
    const rows = Array.from({ length: height }, (_, row) => gridRow(`${names.at(-2)}${row}`,
      at.slice(first + row * width, first + (row + 1) * width), numbered));
    blocks.push(make("div", { class: "block", role: "rowgroup", "aria-label": title,
      style: `contain-intrinsic-size:${34 + width * 13}px ${20 + height * 12}px` }, make("h4", {}, title), ...rows));
  }
  return blocks;
}

function showGrid() {
  const axes = data.axes;
  const known = axes.names.length > 1;
  grid.append(...(known ? meshBlocks(axes) : hostRows()));
  grid.classList.toggle("mesh", known);
  grid.classList.toggle("small", known && ranks.length > MOST_NUMBERED);
  grid.setAttribute("aria-label", `Ranks by ${known ? axes.names.join(", ") : "host"}; arrow keys move, Enter opens`);
  document.getElementById("grid-words").textContent = !known ? "" : `The job's layout, ${
    axes.names.map((name, axis) => `${name} ${axes.sizes[axis]}`).join(" × ")}: columns are ${axes.names.at(-1)}, rows ${
    axes.names.at(-2)}${axes.names.length > 2 ? `, blocks ${axes.names.slice(0, -2).join(" and ")}` : ""}.`;
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
  for (const role of [ROOT, 2, 3, 0, UNREAD]) {
    const count = ranks.reduce((sum, rank) => sum + (rank.role === role ? 1 : 0), 0);
    if (count === 0) continue;
    legend.append(make("li", {}, make("span", { class: `cell ${ROLES[role].name}` }, role === ROOT ? "!" : ""),
      `${ROLES[role].words} (${count})`));
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
  // Hide hosts, or blocks, without a rank that is kept.
  for (const part of grid.children) part.hidden = part.querySelector(".cell:not(.off)") === null;
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

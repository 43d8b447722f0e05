// The stacks of all ranks in one tree, outermost frame on top. A frame's width is its number of ranks.
// If a counter tells which of several branches is behind, that branch is on the left, and its label says so.
const HEIGHT = 21;
const tree = data.tree.map(([frame, parent, count, set, counter, behind], index) => ({
  index, parent, count, has: rankSet(set) ?? (() => false), set, children: [],
  name: frame < 0 ? "all ranks" : text(data.frames[frame][0]),
  place: frame < 0 ? "" : text(data.frames[frame][1]), counter: text(counter), behind,
}));
for (const node of tree) if (node.parent >= 0) tree[node.parent].children.push(node);
const groupOfSet = new Map(data.groups.map((group, at) => [group.ranks, at]));
let zoomed = tree[0];

// Counts a node's ranks that the filter keeps. Ranks without a number can only be counted unfiltered.
function weightOf(node, kept) {
  if (kept === null) return node.count;
  return kept.reduce((sum, rank) => sum + (rank.rank >= 0 && node.has(rank.rank) ? 1 : 0), 0);
}

function frameElement(node, left, width, depth, weight, search) {
  const label = `${node.counter === "" ? "" : `${node.counter}${node.behind ? ", behind" : ""}: `}${node.name}` +
    (node.place === "" ? "" : `  ${node.place}`);
  // A frame with only one group has that group's colour; a frame that several groups share is plain.
  const group = groupOfSet.get(node.set) ?? -1;
  const found = search !== "" && label.toLowerCase().includes(search);
  const classes = ["frame", group < 0 ? "shared" : "", search === "" ? "" : found ? "hit" : "miss"];
  const element = make("button", {
    type: "button", role: "treeitem", class: classes.filter((name) => name !== "").join(" "),
    "aria-level": depth + 1, "data-frame": node.index,
    title: `${label}\n${weight} ${weight === 1 ? "rank" : "ranks"}: ${node.set}`,
    ...(group < 0 ? {} : { "data-group": group }),
    style: `left:${left}%;width:${width}%;top:${depth * HEIGHT}px` +
      (group < 0 ? "" : `;background:${groupColor(group)}`),
  }, label);
  return [element, found];
}

function showStacks() {
  const target = document.getElementById("stacks");
  const search = document.getElementById("search").value.trim().toLowerCase();
  const keptRanks = ranks.filter(shownRanks);
  const kept = keptRanks.length === ranks.length ? null : keptRanks;
  const elements = [];
  let deepest = 0;
  let hits = 0;
  const place = (node, left, width, depth) => {
    const weight = weightOf(node, kept);
    const [element, found] = frameElement(node, left, width, depth, weight, search);
    elements.push(element);
    hits += found ? 1 : 0;
    deepest = Math.max(deepest, depth);
    let at = left;
    for (const child of node.children) {
      const share = weight === 0 ? 0 : width * weightOf(child, kept) / weight;
      if (share > 0.02) place(child, at, share, depth + 1);
      at += share;
    }
  };
  if (weightOf(zoomed, kept) > 0) place(zoomed, 0, 100, 0);
  target.replaceChildren(...elements);
  target.style.height = `${(deepest + 1) * HEIGHT + 6}px`;
  document.getElementById("search-count").textContent =
    search === "" ? "" : `${hits} ${hits === 1 ? "frame" : "frames"}`;
  document.getElementById("zoom-out").hidden = zoomed === tree[0];
}

function zoomTo(node) {
  zoomed = node;
  showStacks();
}

function listenToStacks() {
  document.getElementById("stacks-order").hidden = tree.every((node) => node.counter === "");
  document.getElementById("stacks").addEventListener("click", (event) => {
    const frame = event.target.closest("[data-frame]");
    if (frame !== null) zoomTo(tree[Number(frame.dataset.frame)]);
  });
  document.getElementById("search").addEventListener("input", showStacks);
  document.getElementById("search-form").addEventListener("submit", (event) => event.preventDefault());
  document.getElementById("zoom-out").addEventListener("click", () => zoomTo(tree[0]));
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") zoomTo(tree[0]); });
}

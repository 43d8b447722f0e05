// The wait-for graph, laid out in layers from the waiters to the root. Ranks at the same place share one
// box. Cycles are kept: an edge that leads back is drawn backwards.
const BOX = { width: 250, least: 140, height: 62, gapX: 36, gapY: 16, letter: 7.3 };
const MOST_NODES = 60;
const FEW_NODES = 6;  // so many are drawn at once
// As NodeKind of aggregate/evidence/wait_graph.h.
const KIND = { rank: 0, slot: 1, thread: 2, process: 3, resource: 4, link: 5, device: 6 };

// Chooses the nodes to draw: none without an edge and, if there are too many, only culprits and nodes
// that edges connect to them.
function drawnNodes(nodes, edges) {
  const linked = new Set(edges.flatMap(([from, to]) => [from, to]));
  const wanted = new Set(nodes.keys());
  for (const at of nodes.keys()) {
    if (!linked.has(at) && nodes.length > 1) wanted.delete(at);
  }
  if (wanted.size <= MOST_NODES) return wanted;
  const kept = new Set(nodes.flatMap((node, at) => node.culprit ? [at] : []));
  for (let grew = true; grew && kept.size < MOST_NODES;) {
    grew = false;
    for (const [from, to] of edges) {
      if (kept.has(to) !== kept.has(from) && kept.size < MOST_NODES) {
        kept.add(from).add(to);
        grew = true;
      }
    }
  }
  return kept;
}

// The longest path from a node that nothing waits for; edges that close a cycle do not count.
function layers(drawn, edges) {
  const out = new Map([...drawn].map((node) => [node, []]));
  const awaited = new Set();
  for (const [from, to] of edges) {
    out.get(from).push(to);
    awaited.add(to);
  }
  const order = [];
  const state = new Map();
  const visit = (start) => {
    const stack = [[start, 0]];
    state.set(start, "open");
    while (stack.length > 0) {
      const top = stack[stack.length - 1];
      const next = out.get(top[0])[top[1]++];
      if (next === undefined) {
        state.set(top[0], "done");
        order.unshift(top[0]);
        stack.pop();
      } else if (!state.has(next)) {
        state.set(next, "open");
        stack.push([next, 0]);
      }
    }
  };
  for (const node of [...drawn].filter((at) => !awaited.has(at))) visit(node);
  for (const node of drawn) if (!state.has(node)) visit(node);
  const place = new Map(order.map((node, at) => [node, at]));
  const layer = new Map(order.map((node) => [node, 0]));
  for (const node of order) {
    for (const next of out.get(node)) {
      if (place.get(next) > place.get(node)) layer.set(next, Math.max(layer.get(next), layer.get(node) + 1));
    }
  }
  return layer;
}

function clipped(words, letters) {
  return words.length <= letters ? words : `${words.slice(0, letters - 1)}…`;
}

// Breaks words into at most `most` lines of so many letters; what is left over ends in "…".
function broken(words, letters, most) {
  const lines = [""];
  for (const word of words.split(" ")) {
    const last = lines.length - 1;
    if (lines[last] === "") lines[last] = word;
    else if (lines[last].length + 1 + word.length <= letters) lines[last] += ` ${word}`;
    else lines.push(word);
  }
  if (lines.length > most) lines[most - 1] = lines.slice(most - 1).join(" ");
  return lines.slice(0, most).map((line) => clipped(line, letters));
}

function nodeElement(node, at, position, width) {
  const round = node.kind === KIND.slot || node.kind === KIND.resource ? BOX.height / 2 : 4;
  const words = node.phase === "" ? [node.label] : [node.label, node.phase];
  const letters = Math.floor((width - 24) / BOX.letter);
  const label = (node.culprit ? "! " : "") + node.label;
  const lines = node.phase === "" ? broken(label, letters, 3) : [clipped(label, letters), ...broken(node.phase, letters, 2)];
  const group = draw("g", { class: node.culprit ? "culprit" : "", "data-node": at },
    draw("title", {}, words.join(": ")),
    draw("rect", { class: "box", x: position.x, y: position.y, width, height: BOX.height, rx: round }));
  if (node.group >= 0) {
    group.setAttribute("data-group", node.group);
    group.append(draw("rect", { class: "role", x: position.x, y: position.y, width: 9, height: BOX.height, rx: 4,
      fill: groupColor(node.group) }));
  }
  lines.forEach((line, row) => group.append(draw("text", {
    x: position.x + 16, y: position.y + BOX.height / 2 + 4 + (row - (lines.length - 1) / 2) * 16,
  }, line)));
  if (node.rank >= 0) {
    group.setAttribute("tabindex", "0");
    group.setAttribute("role", "button");
    group.setAttribute("aria-label", words.join(": "));
    const open = () => {
      selectRank(node.rank);
      document.getElementById("rank").scrollIntoView({ block: "nearest" });
    };
    group.addEventListener("click", open);
    group.addEventListener("keydown", (event) => { if (event.key === "Enter") open(); });
  }
  return group;
}

// `onward`: the edge leads to a later layer; one that closes a cycle is drawn below the boxes.
function edgeElement(edge, from, to, width, onward) {
  const [, , on, assumed] = edge;
  const right = to.x > from.x;
  // Ranks of one box that wait for each other: a bow from one half of it to the other.
  const apart = from === to ? width / 4 : 0;
  const x1 = !onward ? from.x + width / 2 - apart : right ? from.x + width : from.x;
  const y1 = from.y + (onward ? BOX.height / 2 : BOX.height);
  const x2 = !onward ? to.x + width / 2 + apart : right ? to.x - 8 : to.x + width + 8;
  const y2 = to.y + (onward ? BOX.height / 2 : BOX.height + 8);
  const bend = (x2 - x1) / 2;
  const way = onward ? `M${x1},${y1} C${x1 + bend},${y1} ${x2 - bend},${y2} ${x2},${y2}`
    : `M${x1},${y1} C${x1},${y1 + 60} ${x2},${y2 + 60} ${x2},${y2}`;
  return draw("path", { class: `edge${assumed ? " assumed" : ""}`, d: way, "marker-end": "url(#tip)" },
    draw("title", {}, text(on) + (assumed ? " (assumed)" : "")));
}

// Draws into so much room. If the boxes cannot be that narrow, the root comes first, and the rest is reached by
// scrolling.
function waitsPicture(nodes, drawn, edges, room) {
  const layer = layers(drawn, edges);
  const columns = [];
  for (const [node, column] of layer) (columns[column] ??= []).push(node);
  const gaps = (columns.length - 1) * BOX.gapX;
  const width = Math.floor(Math.max(BOX.least, Math.min(BOX.width, (room - 20 - gaps) / columns.length)));
  const whole = 20 + columns.length * width + gaps;
  const tallest = Math.max(...columns.map((column) => column.length));
  const position = new Map();
  columns.forEach((column, at) => column.forEach((node, y) => position.set(node, {
    x: 10 + (whole > room ? columns.length - 1 - at : at) * (width + BOX.gapX),
    y: 10 + (y + (tallest - column.length) / 2) * (BOX.height + BOX.gapY),
  })));
  const onward = ([from, to]) => layer.get(from) < layer.get(to);
  const words = data.verdict.chain.map(([who, whom, on]) => `${who} waits for ${whom}: ${on}`).join("; ");
  return draw("svg", {
    width: whole, height: tallest * (BOX.height + BOX.gapY) + (edges.every(onward) ? 10 : 70),
    role: "group", "aria-label": `Wait-for graph. ${words}`,
  },
    draw("defs", {}, draw("marker", { id: "tip", viewBox: "0 0 8 8", refX: 1, refY: 4, markerWidth: 8,
      markerHeight: 8, orient: "auto-start-reverse" }, draw("path", { class: "tip", d: "M0,0 L8,4 L0,8 z" }))),
    ...edges.map((edge) => edgeElement(edge, position.get(edge[0]), position.get(edge[1]), width, onward(edge))),
    ...[...drawn].map((at) => nodeElement(nodes[at], at, position.get(at), width)));
}

function showWaits() {
  const nodes = data.picture.nodes.map(([kind, label, phase, group, rank, count]) => ({
    kind, label: text(label), phase: text(phase), group, rank, count,
    culprit: kind === KIND.link || kind === KIND.device || (rank >= 0 && isCulprit(ranks[rank])),
  }));
  const all = drawnNodes(nodes, data.picture.edges);
  const allEdges = data.picture.edges.filter(([from, to]) => all.has(from) && all.has(to));
  const target = document.getElementById("waits");
  const words = document.getElementById("waits-words");
  const more = document.getElementById("waits-more");
  if (all.size === 0 || allEdges.length === 0) {
    target.append(make("p", { class: "soft" }, "No rank was found to wait for another."));
    return;
  }
  const chain = mainChain(nodes, data.picture.edges);
  const inChain = new Set(chain?.flatMap(([from, to]) => [from, to]));
  let whole = chain === null || all.size <= FEW_NODES;
  more.hidden = whole;
  const redraw = () => {
    target.replaceChildren(whole ? waitsPicture(nodes, all, allEdges, target.clientWidth - 8)
      : waitsPicture(nodes, inChain, chain, target.clientWidth - 8));
    more.textContent = whole ? "Only the chain to the root" : `All ${nodes.length} nodes`;
    more.setAttribute("aria-expanded", whole);
    words.textContent = !whole ? "The way from the largest set of waiting ranks to the root."
      : all.size < nodes.length && nodes.length > MOST_NODES
        ? `${all.size} of ${nodes.length} nodes are drawn: those that lead to the root.` : "";
  };
  more.addEventListener("click", () => {
    whole = !whole;
    redraw();
  });
  window.addEventListener("resize", redraw);
  redraw();
}

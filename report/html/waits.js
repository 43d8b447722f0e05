// The wait-for graph, laid out in layers from the waiters to the root. Ranks at the same place share one
// box. Cycles are kept: an edge that leads back is drawn backwards.
const BOX = { width: 250, height: 46, gapX: 70, gapY: 18 };
const MOST_NODES = 60;
// As NodeKind of aggregate/evidence/wait_graph.h.
const KIND = { rank: 0, slot: 1, thread: 2, process: 3, resource: 4, link: 5 };

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

function nodeElement(node, at, position) {
  const round = node.kind === KIND.slot || node.kind === KIND.resource ? BOX.height / 2 : 4;
  const lines = node.phase === "" ? [node.label] : [node.label, node.phase];
  const group = draw("g", { class: node.culprit ? "culprit" : "", "data-node": at },
    draw("title", {}, lines.join(": ")),
    draw("rect", { class: "box", x: position.x, y: position.y, width: BOX.width, height: BOX.height, rx: round }));
  if (node.group >= 0) {
    group.append(draw("rect", { x: position.x, y: position.y, width: 8, height: BOX.height, rx: 4,
      fill: groupColor(node.group) }));
  }
  lines.forEach((line, row) => group.append(draw("text", {
    x: position.x + 16, y: position.y + BOX.height / 2 + 4 + (lines.length === 1 ? 0 : row * 16 - 8),
  }, clipped((node.culprit && row === 0 ? "! " : "") + line, 32))));
  if (node.rank >= 0) {
    group.setAttribute("tabindex", "0");
    group.setAttribute("role", "button");
    group.setAttribute("aria-label", lines.join(": "));
    const open = () => {
      selectRank(node.rank);
      document.getElementById("rank").scrollIntoView({ block: "nearest" });
    };
    group.addEventListener("click", open);
    group.addEventListener("keydown", (event) => { if (event.key === "Enter") open(); });
  }
  return group;
}

function edgeElement(edge, from, to) {
  const [, , on, assumed] = edge;
  const forward = to.x > from.x;
  const x1 = forward ? from.x + BOX.width : from.x + BOX.width / 2;
  const y1 = forward ? from.y + BOX.height / 2 : from.y + BOX.height;
  const x2 = forward ? to.x - 8 : to.x + BOX.width / 2;
  const y2 = forward ? to.y + BOX.height / 2 : to.y + BOX.height + 8;
  const bend = forward ? Math.max(30, (x2 - x1) / 2) : 0;
  const way = forward ? `M${x1},${y1} C${x1 + bend},${y1} ${x2 - bend},${y2} ${x2},${y2}`
    : `M${x1},${y1} C${x1},${y1 + 60} ${x2},${y2 + 60} ${x2},${y2}`;
  return draw("path", { class: `edge${assumed ? " assumed" : ""}`, d: way, "marker-end": "url(#tip)" },
    draw("title", {}, text(on) + (assumed ? " (assumed)" : "")));
}

function showWaits() {
  const nodes = data.picture.nodes.map(([kind, label, phase, group, rank]) => ({
    kind, label: text(label), phase: text(phase), group, rank, culprit: kind === KIND.link || (rank >= 0 && isCulprit(ranks[rank])),
  }));
  const drawn = drawnNodes(nodes, data.picture.edges);
  const edges = data.picture.edges.filter(([from, to]) => drawn.has(from) && drawn.has(to));
  const target = document.getElementById("waits");
  if (drawn.size === 0 || edges.length === 0) {
    target.append(make("p", { class: "soft" }, "No rank was found to wait for another."));
    return;
  }
  const layer = layers(drawn, edges);
  const columns = [];
  for (const [node, column] of layer) (columns[column] ??= []).push(node);
  const tallest = Math.max(...columns.map((column) => column.length));
  const height = tallest * (BOX.height + BOX.gapY) + 80;
  const position = new Map();
  columns.forEach((column, x) => column.forEach((node, y) => position.set(node, {
    x: 10 + x * (BOX.width + BOX.gapX),
    y: 10 + (y + (tallest - column.length) / 2) * (BOX.height + BOX.gapY),
  })));
  const width = 20 + columns.length * (BOX.width + BOX.gapX) - BOX.gapX;
  const words = data.verdict.chain.map(([who, whom, on]) => `${who} waits for ${whom}: ${on}`).join("; ");
  target.append(draw("svg", {
    width, height: height - (edges.some(([from, to]) => layer.get(from) >= layer.get(to)) ? 0 : 60),
    role: "group", "aria-label": `Wait-for graph. ${words}`,
  },
    draw("defs", {}, draw("marker", { id: "tip", viewBox: "0 0 8 8", refX: 1, refY: 4, markerWidth: 8,
      markerHeight: 8, orient: "auto-start-reverse" }, draw("path", { class: "tip", d: "M0,0 L8,4 L0,8 z" }))),
    ...edges.map((edge) => edgeElement(edge, position.get(edge[0]), position.get(edge[1]))),
    ...[...drawn].map((at) => nodeElement(nodes[at], at, position.get(at)))));
  if (drawn.size < nodes.length && nodes.length > MOST_NODES) {
    target.append(make("p", { class: "soft" }, `${drawn.size} of ${nodes.length} nodes are drawn: those that lead to the root.`));
  }
}

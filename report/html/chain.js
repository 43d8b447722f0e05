// The part of the wait-for graph that is always drawn: the way from the largest set of waiting ranks to the
// root, and on to what the root waits for. Calls between two sets of ranks become the words of an edge.

// Returns, for each node from which waits lead to a root, the edge that is the next step of a shortest way.
function stepsToRoot(nodes, edges) {
  const into = new Map();
  for (const edge of edges) {
    if (!into.has(edge[1])) into.set(edge[1], []);
    into.get(edge[1]).push(edge);
  }
  const step = new Map();
  let ring = nodes.flatMap((node, at) => node.culprit ? [at] : []);
  const seen = new Set(ring);
  while (ring.length > 0) {
    const next = [];
    for (const at of ring) {
      for (const edge of into.get(at) ?? []) {
        if (seen.has(edge[0])) continue;
        seen.add(edge[0]);
        step.set(edge[0], edge);
        next.push(edge[0]);
      }
    }
    ring = next;
  }
  return step;
}

// Returns the edges of the chain in order, as [from, to, words, assumed]; null if nobody waits for a root.
function mainChain(nodes, edges) {
  const step = stepsToRoot(nodes, edges);
  const waiting = [...step.keys()].filter((at) => nodes[at].kind === KIND.rank);
  if (waiting.length === 0) return null;
  const chain = [];
  let from = waiting.reduce((most, at) => nodes[at].count > nodes[most].count ? at : most);
  for (let at = from, words = null; step.has(at);) {
    const [, to, on, assumed] = step.get(at);
    words ??= on;
    if (nodes[to].kind !== KIND.slot) {
      chain.push([from, to, words, assumed]);
      from = to;
      words = null;
    }
    at = to;
  }
  // What the root waits for: a thread, a process, a file.
  const known = new Set(chain.flatMap(([one, other]) => [one, other]));
  for (let at = from; at !== undefined;) {
    const edge = edges.find(([one, other]) => one === at && !known.has(other) &&
      ![KIND.rank, KIND.slot].includes(nodes[other].kind));
    if (edge !== undefined) chain.push(edge);
    at = edge?.[1];
    known.add(at);
  }
  return chain;
}

// The last calls of each rank, from its flight recorder: a table with a lane for each rank, in which the
// calls of one group and number are below each other. So a call that a rank left out is a gap, and
// calls in another order than those of most ranks are marked.
const MOST_LANES = 64;

// A call of one rank is the same one as another rank's if group and number are; of a transfer, each
// side counts for itself.
const callKey = (call) => `${call.group} #${call.number}${call.peer < 0 ? "" : ` ${call.op} ${call.peer}`}`;

function callLanes() {
  const histories = (data.verdict.history ?? []).map(([set, named, earlier, calls]) => ({
    set, named: named === 1, earlier: earlier === 1,
    calls: calls.map(([op, group, number, peer, open, place]) => ({ op, group, number, peer, open: open === 1, place })),
  }));
  const ranksOf = (history) => {
    const has = rankSet(history.set);
    return has === null ? [] : ranks.filter((rank) => rank.rank >= 0 && has(rank.rank)).map((rank) => rank.rank);
  };
  for (const history of histories) history.ranks = ranksOf(history);
  const all = histories.reduce((sum, history) => sum + history.ranks.length, 0);
  const lanes = all > MOST_LANES ? histories.map((history) => ({ ...history, label: history.set })) :
    histories.flatMap((history) => history.ranks.map((rank) => ({ ...history, label: `${rank}`, ranks: [rank] })));
  return { histories, lanes };
}

// Returns the columns in the order of the calls of most ranks; what these lack stands before the call
// that the other rank made next, or at the end.
function callColumns(histories) {
  const columns = [];
  for (const history of [...histories].sort((a, b) => b.ranks.length - a.ranks.length)) {
    const keys = history.calls.map(callKey);
    keys.forEach((key, at) => {
      if (columns.includes(key)) return;
      const next = keys.slice(at).map((one) => columns.indexOf(one)).find((one) => one >= 0);
      columns.splice(next ?? columns.length, 0, key);
    });
  }
  return columns;
}

function callCell(lane, column, columns, groups) {
  const at = lane.calls.findIndex((call) => callKey(call) === column);
  const places = lane.calls.map((call) => columns.indexOf(callKey(call)));
  if (at < 0) {
    const place = columns.indexOf(column);
    if (place > Math.max(...places)) return make("td", { class: "soft" }, "not called yet");
    const known = !lane.earlier || place > places[0];
    return make("td", { class: known ? "left-out" : "soft" }, known ? "not called" : "…");
  }
  const call = lane.calls[at];
  const swapped = places.slice(0, at).some((place) => place > places[at]);
  const words = call.peer < 0 ? call.op : `${call.op} ${call.op === "send" ? "to" : "from"} ${call.peer}`;
  return make("td", { class: call.open ? "open-call" : "", title: call.place },
    make("span", { class: "call", style: `border-color:${COLORS[groups.indexOf(call.group) % COLORS.length]}` }, words),
    call.open ? make("div", { class: "decides" }, "open") : "",
    swapped ? make("div", { class: "bad" }, "out of order") : "",
    call.open && call.place !== "" ? make("div", { class: "soft" }, call.place) : "");
}

function showCalls() {
  const { histories, lanes } = callLanes();
  document.getElementById("calls").hidden = lanes.length === 0;
  if (lanes.length === 0) return;
  const columns = callColumns(histories);
  const groups = [...new Set(histories.flatMap((history) => history.calls.map((call) => call.group)))];
  const rows = lanes.map((lane) => make("tr", { class: lane.named ? "culprit" : "" },
    make("th", { scope: "row" }, `${lane.ranks.length === 1 ? "rank" : "ranks"} ${lane.label}`),
    ...columns.map((column) => callCell(lane, column, columns, groups))));
  document.getElementById("calls-rows").append(make("table", { class: "calls" },
    make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "Ranks"),
      ...columns.map((column) => make("th", { scope: "col" }, column)))),
    make("tbody", {}, ...rows)));
}

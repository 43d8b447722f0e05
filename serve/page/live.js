"use strict";
// Asks for the state every two seconds, and shows the newest report, or the one that was chosen.
const POLL_MS = 2000;
const BUSY_POLL_MS = 500;
const byId = (id) => document.getElementById(id);
let state = null;
let taken = 0; // when it was taken, by performance.now()
let shown = 0; // the report in the frame
let coming = null; // the frame that is loading
let place = null; // where the reader is in the report (report/html/place.js)
let asked = null; // [earlier, later] of a comparison that was asked for
let timer = 0;

const seconds = (ms) => ms < 90000 ? `${Math.max(0, Math.round(ms / 1000))} s` : `${Math.round(ms / 60000)} min`;
const since = () => performance.now() - taken;
const readings = () => state.reports.filter((report) => report.of === undefined);
const timeOf = (report) => new Date(Date.now() - report.age_ms - since()).toLocaleTimeString();

function say() {
  const newest = readings().at(-1);
  let text = "";
  if (state.busy !== "") text = `${state.busy}… ${seconds(state.busy_ms + since())}`;
  else if (newest !== undefined) {
    text = `read ${seconds(newest.age_ms + since())} ago`;
    if (state.renewal_ms !== null) text += `, again in ${seconds(state.renewal_ms - since())}`;
  }
  byId("state").textContent = text;
  const words = byId("words"); // gone with the first report
  if (words !== null) words.textContent = state.words;
  byId("read").disabled = state.busy !== "" || state.pause_ms > since();
}

function fill(select, first, reports, label) {
  const value = select.value;
  const wanted = [["", first], ...reports.map((report) => [String(report.id), label(report)])];
  if (select.dataset.ids !== wanted.map(([id]) => id).join()) {
    select.dataset.ids = wanted.map(([id]) => id).join();
    select.replaceChildren(...wanted.map(([id, text]) => new Option(text, id)));
    select.value = wanted.some(([id]) => id === value) ? value : "";
  }
  select.disabled = reports.length === 0;
}

function chosen() {
  const all = readings();
  return all.find((report) => String(report.id) === byId("shown").value) ?? all.at(-1);
}

// The frame that has loaded takes the place of the one before, so that nothing flickers.
function show(id) {
  if (id === shown) return;
  shown = id;
  coming?.remove();
  const frame = document.createElement("iframe");
  frame.title = "The report";
  frame.sandbox = "allow-scripts";
  frame.className = "coming";
  frame.addEventListener("load", () => {
    if (frame !== coming) return;
    coming = null;
    if (place !== null) frame.contentWindow.postMessage({ oddrankPlace: place }, "*");
    for (const other of [...byId("frames").children]) if (other !== frame) other.remove();
    frame.className = "";
  });
  coming = frame;
  frame.src = `report/${id}`;
  byId("frames").append(frame);
}

function update() {
  const all = readings();
  fill(byId("shown"), "newest", all.toReversed(), (report) => `${timeOf(report)} ${report.sentence}`);
  const later = chosen();
  fill(byId("compared"), "the one before", all.filter((report) => report.id < (later?.id ?? 0)).toReversed(),
    (report) => timeOf(report));
  const comparison = asked === null ? undefined :
    state.reports.find((report) => report.of?.join() === asked.join());
  if (comparison !== undefined) show(comparison.id);
  else if (later !== undefined && asked === null) show(later.id);
  document.title = [state.about, ...all.slice(-1).map((report) => report.sentence)].join(": ");
  byId("about").textContent = state.about;
  const trouble = byId("trouble");
  trouble.hidden = state.trouble === "";
  const words = `The last reading failed: ${state.trouble}${state.hint === "" ? "" : `\n${state.hint}`}`;
  if (trouble.textContent !== words) trouble.textContent = words;
  say();
}

async function poll() {
  clearTimeout(timer);
  try {
    const answer = await fetch("state");
    if (!answer.ok) throw new Error(answer.statusText);
    state = await answer.json();
    taken = performance.now();
    update();
  } catch {
    byId("trouble").hidden = false;
    byId("trouble").textContent = "oddrank does not answer any more; what is shown stays as it is";
    byId("read").disabled = true;
  }
  clearTimeout(timer);
  timer = setTimeout(poll, state !== null && state.busy !== "" ? BUSY_POLL_MS : POLL_MS);
}

async function ask(what) {
  byId("read").disabled = true;
  try {
    await fetch(what, { method: "POST", headers: { "X-Oddrank": "1" } });
  } catch { /* the next poll says so */ }
  poll();
}

byId("read").addEventListener("click", () => {
  byId("shown").value = "";
  asked = null;
  ask("read");
});
byId("shown").addEventListener("change", () => {
  asked = null;
  byId("compared").value = "";
  update();
});
byId("compared").addEventListener("change", () => {
  const earlier = byId("compared").value;
  asked = earlier === "" ? null : [Number(earlier), chosen().id];
  byId("shown").value = asked === null ? "" : String(asked[1]);
  if (asked === null) update();
  else ask(`compare/${asked.join("/")}`);
});
window.addEventListener("message", (event) => {
  const frame = byId("frames").querySelector("iframe:not(.coming)");
  if (frame !== null && event.source === frame.contentWindow) place = event.data?.oddrankPlace ?? place;
});
setInterval(() => { if (state !== null) say(); }, 500);
poll();

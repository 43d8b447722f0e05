// Shows one rank and its processes: every thread, what it waits for, its stack and its locals.
const processesOf = new Map();
for (const row of data.processes) {
  if (!processesOf.has(row[0])) processesOf.set(row[0], []);
  processesOf.get(row[0]).push({
    pid: row[1], what: text(row[2]), command: text(row[3]), python: text(row[4]), state: row[5],
    why: text(row[6]), threads: row[7], tasks: row[8],
  });
}

function threadElement(row) {
  const [tids, count, nameId, state, waitId, stack, marks, locals] = row;
  const facts = [`state ${state}`];
  if (marks & MARK.holdsGil) facts.push("holds the GIL");
  if (marks & MARK.wantsGil) facts.push("wants the GIL");
  const name = text(nameId) === "" ? "" : ` “${text(nameId)}”`;
  const wait = text(waitId);
  if (marks & MARK.idle) {
    return make("details", {}, make("summary", {}, `${count === 1 ? "1 thread" : `${count} threads`} ${wait}: ${tids}`),
      stackTable(stack));
  }
  const title = `${count === 1 ? "Thread" : `${count} threads at the same place:`} ${tids}${name}`;
  return make("div", {},
    make("h4", {}, title, " ", make("span", { class: "soft" }, `(${facts.join(", ")})`)),
    wait === "" ? "" : make("p", { class: marks & MARK.decides ? "decides" : "" }, wait),
    stackTable(stack, locals));
}

// Shows what --tasks read: each task with the chain of what it awaits, and parked greenlets; and Python
// threads that no thread runs.
const TASK_KINDS = ["Task", "Greenlet", "Python thread"];

function tasksElement(tasks) {
  if (tasks.length === 0) return "";
  const plain = tasks.every((task) => task[3] === 0);
  const kind = plain ? "task" : "task, greenlet or Python thread";
  const kinds = plain ? "tasks" : "tasks, greenlets or Python threads";
  return make("details", { class: "tasks", open: "" },
    make("summary", {}, `${tasks.length} ${tasks.length === 1 ? kind : kinds} that ${
      tasks.length === 1 ? "has" : "have"} not ended`),
    ...tasks.map(([nameId, wordsId, stack, kindNumber]) => make("div", {},
      make("h4", {}, `${TASK_KINDS[kindNumber]}${text(nameId) === "" ? "" : ` “${text(nameId)}”`} `,
        make("span", { class: "soft" }, text(wordsId))),
      stackTable(stack))));
}

function showRank(rank) {
  const facts = [PRESENCE[rank.presence], `state ${rank.state}`];
  if (rank.group >= 0) facts.push(`group ${groupLetter(rank.group)}`);
  if (rank.coordinates !== "") facts.push(rank.coordinates);
  if (rank.motion !== "") facts.push(rank.motion);
  const title = `${rankName(rank)}${rank.host === "" ? "" : ` on ${rank.host}`}` +
    (rank.pid > 0 && rank.rank >= 0 ? `, pid ${rank.pid}` : "");
  const article = document.getElementById("rank");
  const all = make("input", { type: "checkbox", id: "all-frames", style: "width:auto" });
  all.checked = article.classList.contains("all-frames");
  all.addEventListener("change", () => article.classList.toggle("all-frames", all.checked));
  article.replaceChildren(
    make("h3", {}, title, isCulprit(rank) ? make("span", { class: "bad" }, " — the odd one out") : ""),
    make("p", {}, `${facts.join(", ")}. ${rank.phase}`),
    rank.why === "" ? "" : make("p", { class: "bad" }, rank.why),
    make("p", {}, all, " ", make("label", { for: "all-frames" }, "all frames, also internals")),
    ...(processesOf.get(rank.index) ?? []).flatMap((process) => [
      make("p", {}, make("strong", {}, `pid ${process.pid}${process.what === "" ? "" : ` (${process.what})`}`),
        process.python === "" ? "" : `, Python ${process.python}`, `, state ${process.state}: `,
        make("code", {}, process.command)),
      process.why === "" ? "" : make("p", { class: "bad" }, process.why),
      ...process.threads.map(threadElement), tasksElement(process.tasks)]));
  article.hidden = false;
}

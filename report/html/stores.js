// The stores of the job, with the keys that clients wait for: who waits for which, and who is to set it.
function storeTable([of, set, keys, more]) {
  const party = (set) => set === "" ? "" : `${/[,-]/.test(set) ? "ranks" : "rank"} ${set}`;
  const rows = keys.map(([key, clients, waiters, owner]) => make("tr", {},
    make("td", { class: "key" }, key), make("td", {}, `${clients}`),
    make("td", waiters === "" ? { class: "soft" } : {}, waiters === "" ? "not known" : party(waiters)),
    make("td", owner < 0 ? { class: "soft" } : { class: "bad" }, owner < 0 ? "not known" : `rank ${owner} (by the other ranks' keys)`)));
  return make("div", {}, make("p", { class: "soft" }, `The store of ${of} has ${set} ${set === 1 ? "key" : "keys"}.`),
    make("table", { class: "calls" },
      make("thead", {}, make("tr", {}, ...["Key", "Clients", "Seen to wait", "To be set by"].map((head) =>
        make("th", { scope: "col" }, head)))),
      make("tbody", {}, ...rows)),
    more === 0 ? "" : make("p", { class: "soft" }, `Clients wait for ${more} more.`));
}

function showStores() {
  document.getElementById("stores").hidden = data.stores.length === 0;
  document.getElementById("stores-rows").append(...data.stores.map(storeTable));
}

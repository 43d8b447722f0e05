// If another page shows the report in a frame (`--serve`): tells that page where the reader is, and goes where it says.
// So a new report opens at the place of the one before. What it says is only a place: its words are texts to find.
function placeNow() {
  return { scroll: window.scrollY, filter: document.getElementById("filter").value,
    search: document.getElementById("search").value,
    rank: Number(grid.querySelector("[aria-selected]")?.dataset.rank ?? -1) };
}

function goToPlace(place) {
  for (const id of ["filter", "search"]) {
    const input = document.getElementById(id);
    if (typeof place[id] !== "string" || place[id] === input.value) continue;
    input.value = place[id];
    input.dispatchEvent(new Event("input"));
  }
  if (ranks[place.rank] !== undefined) selectRank(place.rank);
  if (Number.isFinite(place.scroll)) window.scrollTo(0, place.scroll);
}

function listenToFrame() {
  if (window.parent === window) return;
  const tell = () => window.parent.postMessage({ oddrankPlace: placeNow() }, "*");
  for (const name of ["scroll", "click", "input", "keyup"]) window.addEventListener(name, tell, { passive: true });
  window.addEventListener("message", (event) => {
    const place = event.data?.oddrankPlace;
    if (event.source === window.parent && typeof place === "object" && place !== null) goToPlace(place);
  });
}

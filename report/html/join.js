// Joins the grid, the picture, the groups and the stacks: pointing at a group of ranks in one of them marks it in
// all of them.
let markedGroup = -1;

function markGroup(group) {
  if (group === markedGroup) return;
  for (const element of document.querySelectorAll(".marked")) element.classList.remove("marked");
  markedGroup = group;
  if (group < 0) return;
  for (const element of document.querySelectorAll(`[data-group="${group}"]`)) element.classList.add("marked");
  for (const rank of ranks) {
    if (rank.group === group) cells[rank.index].classList.add("marked");
  }
}

function groupAt(element) {
  const cell = element.closest?.("[data-rank]");
  if (cell) return ranks[Number(cell.dataset.rank)].group;
  return Number(element.closest?.("[data-group]")?.dataset.group ?? -1);
}

function listenToGroups() {
  for (const name of ["mouseover", "focusin"]) {
    document.querySelector("main").addEventListener(name, (event) => markGroup(groupAt(event.target)));
  }
}

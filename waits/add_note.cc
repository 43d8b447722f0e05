#include "waits/add_note.h"

#include <algorithm>
#include <cstddef>

#include "base/printable.h"

namespace oddrank::waits {
namespace {

constexpr std::size_t kMaxPidsInNote = 4;

}  // namespace

void add_note(snapshot::Capture& capture, snapshot::Wait& wait, const std::string& more) {
  const std::string notes = join_clauses(capture.tables.text(wait.rare->notes), more);
  wait.rare.edit().notes = capture.tables.string(notes);
}

std::string pid_list(std::span<const pid_t> pids) {
  std::string text;
  for (const pid_t pid : pids.first(std::min(pids.size(), kMaxPidsInNote))) {
    text += (text.empty() ? "" : ", ") + std::to_string(pid);
  }
  const std::size_t others = pids.size() - std::min(pids.size(), kMaxPidsInNote);
  return others == 0   ? text
         : others == 1 ? text + " and another"
                       : text + " and " + std::to_string(others) + " others";
}

}  // namespace oddrank::waits

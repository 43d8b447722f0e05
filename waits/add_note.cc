#include "waits/add_note.h"

#include "base/printable.h"

namespace oddrank::waits {

void add_note(snapshot::Capture& capture, snapshot::Wait& wait, const std::string& more) {
  const std::string notes = join_clauses(capture.tables.text(wait.rare->notes), more);
  wait.rare.edit().notes = capture.tables.string(notes);
}

}  // namespace oddrank::waits

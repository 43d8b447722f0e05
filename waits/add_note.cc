#include "waits/add_note.h"

namespace oddrank::waits {

void add_note(snapshot::Capture& capture, snapshot::Wait& wait, const std::string& more) {
  const std::string text(capture.tables.text(wait.rare->notes));
  wait.rare.edit().notes = capture.tables.string(text.empty() ? more : text + "; " + more);
}

}  // namespace oddrank::waits

#include "base/few_notes.h"

#include <utility>

#include "base/printable.h"

namespace oddrank {

void FewNotes::add(std::string note) {
  if (notes_.size() < most_) {
    notes_.push_back(std::move(note));
  } else {
    ++cut_;
  }
}

std::vector<std::string> FewNotes::take() {
  if (cut_ > 0) {
    notes_.push_back(count_of(cut_, "more note") + " on " + std::string(on_));
  }
  cut_ = 0;
  return std::exchange(notes_, {});
}

}  // namespace oddrank

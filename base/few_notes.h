// Notes of one kind for a report: the first few are kept, the others are counted, so that a note
// says how many were cut.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace oddrank {

class FewNotes {
 public:
  // `on`: what they are notes on, "lost servers".
  FewNotes(std::size_t most, std::string_view on) : most_(most), on_(on) {}

  void add(std::string note);
  // Returns the notes, and a last one if there were more: "3 more notes on lost servers".
  std::vector<std::string> take();

 private:
  std::size_t most_;
  std::string_view on_;
  std::size_t cut_ = 0;
  std::vector<std::string> notes_;
};

}  // namespace oddrank

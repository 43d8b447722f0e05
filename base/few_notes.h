// Notes of one kind for a report: keeps the first few, and counts the others in a last note.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace oddrank {

class FewNotes {
 public:
  // `on`: the subject of the notes, "lost servers".
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

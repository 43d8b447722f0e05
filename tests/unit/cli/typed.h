// A command line as main() gets it.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace oddrank::test {

class Typed {
 public:
  // Without the program's name.
  explicit Typed(std::vector<std::string> words) : texts_(std::move(words)) {
    texts_.insert(texts_.begin(), "oddrank");
    for (std::string& text : texts_) {
      words_.push_back(text.data());
    }
    words_.push_back(nullptr);
  }

  int count() const { return static_cast<int>(texts_.size()); }
  char** words() { return words_.data(); }

 private:
  std::vector<std::string> texts_;
  std::vector<char*> words_;
};

}  // namespace oddrank::test

// Texts, frames and stacks of an HTML report, each once; rows refer to them by number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "aggregate/frames/frame_model.h"

namespace oddrank::report {

class HtmlTables {
 public:
  explicit HtmlTables(aggregate::FrameModel& model) : model_(model) {}

  struct FrameRow {
    std::size_t name = 0;   // number of a text
    std::size_t place = 0;  // number of a text
    char kind = 'n';        // n native, p Python, u Python of the user's own program
  };

  // Returns the number of a text; "" is 0.
  std::size_t text(const std::string& value);
  std::size_t frame(const aggregate::ShownFrame& frame);
  // Returns the number of a folded stack, without the frames that were left out.
  std::size_t stack(const aggregate::FoldedStack& stack);
  // Returns the number of a stack with all frames of a sample, and marks those that folding leaves
  // out.
  std::size_t stack(const snapshot::ThreadSample& sample);

  const std::vector<std::string>& texts() const { return texts_; }
  const std::vector<FrameRow>& frames() const { return frames_; }
  // Stacks, innermost frame first; 2 * frame, plus 1 if folding leaves it out. [0] is empty.
  const std::vector<std::vector<std::size_t>>& stacks() const { return stacks_; }

 private:
  std::size_t stack_row(std::vector<std::size_t> row);

  aggregate::FrameModel& model_;
  std::vector<std::string> texts_{""};
  std::unordered_map<std::string, std::size_t> text_ids_{{"", 0}};
  std::vector<FrameRow> frames_;
  std::map<std::pair<std::size_t, std::pair<std::size_t, char>>, std::size_t> frame_ids_;
  std::vector<std::vector<std::size_t>> stacks_{{}};
  std::map<std::vector<std::size_t>, std::size_t> stack_ids_{{{}, 0}};
  std::map<std::pair<snapshot::StackId, snapshot::StackId>, std::size_t> sample_stacks_;
};

}  // namespace oddrank::report

// Colours and columns of text reports. Every method returns plain text if colours are off.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate/frames/frame_model.h"
#include "report/text_options.h"

namespace oddrank::report {

class Style {
 public:
  explicit Style(const TextOptions& options)
      : color_(options.color),
        full_(options.full_stacks),
        width_(static_cast<std::size_t>(std::clamp(options.width, 40, 1000))) {}

  std::size_t width() const { return width_; }
  std::string bold(std::string_view text) const { return paint("1", text); }
  std::string bad(std::string_view text) const { return paint("1;31", text); }
  std::string good(std::string_view text) const { return paint("32", text); }
  std::string warn(std::string_view text) const { return paint("33", text); }
  std::string dim(std::string_view text) const { return paint("2", text); }

  // Breaks text at the width; the first line follows `first`, the others are indented by `indent`.
  std::string paragraph(std::string_view first, std::string_view text, std::size_t indent) const;

  // Returns "    get                     multiprocessing/queues.py:113\n".
  std::string frame_line(const aggregate::ShownFrame& frame, std::size_t indent) const;

  // Returns at most `limit` frames of a stack (all if full stacks are requested), innermost first:
  // the inner end and the user's own frames, with a line in place of the frames left out between.
  // If all fit, the further rounds of a recursion are one line.
  std::string stack_lines(const aggregate::FoldedStack& stack,
                          std::size_t indent,
                          std::size_t limit) const;

 private:
  // Returns "... `f` 4,087 more times\n".
  std::string recursion_line(const std::vector<aggregate::ShownFrame>& frames,
                             std::size_t begin,
                             std::size_t period,
                             std::size_t rounds,
                             std::size_t indent) const;
  std::string paint(std::string_view code, std::string_view text) const;

  bool color_;
  bool full_;
  std::size_t width_;
};

}  // namespace oddrank::report

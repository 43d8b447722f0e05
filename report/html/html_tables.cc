#include "report/html/html_tables.h"

#include <algorithm>
#include <set>
#include <utility>

namespace oddrank::report {

std::size_t HtmlTables::text(const std::string& value) {
  const auto [at, is_new] = text_ids_.try_emplace(value, texts_.size());
  if (is_new) {
    texts_.push_back(value);
  }
  return at->second;
}

std::size_t HtmlTables::frame(const aggregate::ShownFrame& frame) {
  FrameRow row;
  row.name = text(frame.name);
  row.place = text(frame.shown_place());
  if (frame.kind == snapshot::FrameKind::kPython) {
    row.kind = frame.user ? 'u' : 'p';
  }
  const auto [at, is_new] =
      frame_ids_.try_emplace({row.name, {row.place, row.kind}}, frames_.size());
  if (is_new) {
    frames_.push_back(row);
  }
  return at->second;
}

std::size_t HtmlTables::stack_row(std::vector<std::size_t> row) {
  const auto [at, is_new] = stack_ids_.try_emplace(row, stacks_.size());
  if (is_new) {
    stacks_.push_back(std::move(row));
  }
  return at->second;
}

std::size_t HtmlTables::stack(const aggregate::FoldedStack& stack) {
  std::vector<std::size_t> row;
  for (const aggregate::ShownFrame& shown : stack.frames) {
    row.push_back(2 * frame(shown));
  }
  return stack_row(std::move(row));
}

std::size_t HtmlTables::stack(const snapshot::ThreadSample& sample) {
  const std::pair key{sample.stack, sample.python_stack};
  if (const auto known = sample_stacks_.find(key); known != sample_stacks_.end()) {
    return known->second;
  }
  std::set<snapshot::FrameId> kept;
  for (const aggregate::ShownFrame& shown : model_.fold(sample).frames) {
    kept.insert(shown.id);
  }
  std::vector<std::size_t> row;
  for (const snapshot::FrameId id : model_.all_frames(sample)) {
    row.push_back(2 * frame(model_.shown(id)) + (kept.contains(id) ? 0U : 1U));
  }
  return sample_stacks_[key] = stack_row(std::move(row));
}

}  // namespace oddrank::report

#include "report/report_folded.h"

#include <algorithm>

#include <fmt/format.h>

#include "aggregate/view/job_view.h"
#include "report/tree/prefix_tree.h"

namespace oddrank::report {
namespace {

// Replaces ';' and line ends, which are separators in this format.
std::string folded_name(const aggregate::ShownFrame& frame) {
  std::string name = frame.kind == snapshot::FrameKind::kPython
                         ? fmt::format("{} ({})", frame.name, frame.place())
                         : frame.name;
  std::replace(name.begin(), name.end(), ';', ':');
  return name;
}

}  // namespace

std::string report_folded(const aggregate::JobView& view) {
  const PrefixTree tree = build_prefix_tree(view);
  std::string text;
  for (const TreeWay& way : ways_of(tree)) {
    for (const std::size_t node : way.nodes) {
      text += folded_name(tree.nodes[node].frame) + ';';
    }
    // The innermost entry is no frame but names the ranks that are there.
    if (const std::string ranks = ranks_at_end(way); !ranks.empty()) {
      text += fmt::format("[{}];", ranks);
    }
    text.back() = ' ';
    text += fmt::format("{}\n", way.count);
  }
  return text;
}

}  // namespace oddrank::report

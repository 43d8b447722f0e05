#include "aggregate/report_folded.h"

#include <algorithm>

#include <fmt/format.h>

#include "aggregate/job_view.h"
#include "aggregate/prefix_tree.h"

namespace oddrank::aggregate {
namespace {

// ';' and line ends separate in this format.
std::string folded_name(const ShownFrame& frame) {
  std::string name = frame.kind == snapshot::FrameKind::kPython
                         ? fmt::format("{} ({})", frame.name, frame.place())
                         : frame.name;
  std::replace(name.begin(), name.end(), ';', ':');
  return name;
}

}  // namespace

std::string report_folded(const snapshot::Capture& capture) {
  FrameModel model(capture.tables);
  return report_folded(JobView(capture, model));
}

std::string report_folded(const JobView& view) {
  const PrefixTree tree = build_prefix_tree(view);
  std::string text;
  for (const TreeWay& way : ways_of(tree)) {
    for (const std::size_t node : way.nodes) {
      text += folded_name(tree.nodes[node].frame) + ';';
    }
    text.back() = ' ';
    text += fmt::format("{}\n", way.count);
  }
  return text;
}

}  // namespace oddrank::aggregate

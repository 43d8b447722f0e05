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

struct Step {
  std::size_t node;
  std::string path;
};

}  // namespace

std::string report_folded(const snapshot::Capture& capture) {
  FrameModel model(capture.tables);
  const JobView view(capture, model);
  const PrefixTree tree = build_prefix_tree(view);
  std::string text;
  std::vector<Step> todo = {{0, ""}};
  while (!todo.empty()) {
    const Step step = std::move(todo.back());
    todo.pop_back();
    const TreeNode& node = tree.nodes[step.node];
    std::size_t further = 0;
    for (std::size_t place = node.children.size(); place > 0; --place) {
      const std::size_t child = node.children[place - 1];
      const TreeNode& next = tree.nodes[child];
      further += next.count;
      todo.push_back({child, step.path + (step.path.empty() ? "" : ";") + folded_name(next.frame)});
    }
    if (node.count > further && !step.path.empty()) {
      text += fmt::format("{} {}\n", step.path, node.count - further);
    }
  }
  return text;
}

}  // namespace oddrank::aggregate

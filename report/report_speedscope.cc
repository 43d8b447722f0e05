#include "report/report_speedscope.h"

#include <map>

#include "base/printable.h"
#include "base/version.h"
#include "report/json_values.h"
#include "report/tree/prefix_tree.h"

namespace oddrank::report {
namespace {

// Frames are equal here if they are equal in the tree: same name, file and line.
class FrameList {
 public:
  std::size_t index_of(const TreeNode& node);
  Json take() { return std::move(frames_); }

 private:
  std::map<std::string, std::size_t> index_;
  Json frames_ = Json::array();
};

std::size_t FrameList::index_of(const TreeNode& node) {
  const auto [at, is_new] = index_.try_emplace(node.key, index_.size());
  if (is_new) {
    Json frame;
    frame["name"] = node.frame.name;
    if (!node.frame.file.empty()) {
      frame["file"] = node.frame.file;
    }
    if (node.frame.line != 0) {
      frame["line"] = node.frame.line;
    }
    frames_.push_back(std::move(frame));
  }
  return at->second;
}

std::string title(const snapshot::Capture& capture) {
  return capture.job.id.empty() ? std::string("ranks") : "job " + printable(capture.job.id, 60);
}

}  // namespace

std::string report_speedscope(const aggregate::JobView& view) {
  const PrefixTree tree = build_prefix_tree(view);
  FrameList frames;
  Json samples = Json::array();
  Json weights = Json::array();
  std::size_t total = 0;
  for (const TreeWay& way : ways_of(tree)) {
    Json sample = Json::array();  // outermost frame first
    for (const std::size_t node : way.nodes) {
      sample.push_back(frames.index_of(tree.nodes[node]));
    }
    samples.push_back(std::move(sample));
    weights.push_back(way.count);
    total += way.count;
  }
  Json profile;
  profile["type"] = "sampled";
  profile["name"] = title(view.capture()) + ": ranks";
  profile["unit"] = "none";
  profile["startValue"] = 0;
  profile["endValue"] = total;
  profile["samples"] = std::move(samples);
  profile["weights"] = std::move(weights);
  Json json;
  json["$schema"] = "https://www.speedscope.app/file-format-schema.json";
  json["shared"]["frames"] = frames.take();
  json["profiles"] = Json::array({std::move(profile)});
  json["name"] = title(view.capture());
  json["activeProfileIndex"] = 0;
  json["exporter"] = std::string("oddrank ") + kVersion;
  return json_text(json) + '\n';
}

}  // namespace oddrank::report

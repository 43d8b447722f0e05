#include "report/report_profiles.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "aggregate/view/job_view.h"
#include "base/printable.h"
#include "base/version.h"
#include "report/json_values.h"
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

constexpr std::size_t kMaxProfiles = 200;

Json profile_named(const std::string& name) {
  return {{"type", "sampled"},       {"name", name},  {"unit", "none"},
          {"startValue", 0},         {"endValue", 0}, {"samples", Json::array()},
          {"weights", Json::array()}};
}

void add_sample(Json& profile, const Json& sample, std::size_t ranks) {
  profile["samples"].push_back(sample);
  profile["weights"].push_back(ranks);
  profile["endValue"] = profile["endValue"].get<std::size_t>() + ranks;
}

std::string title(const snapshot::Capture& capture) {
  return capture.job.id.empty() ? std::string("ranks") : "job " + printable(capture.job.id, 60);
}

}  // namespace

std::string report_speedscope(const aggregate::JobView& view) {
  const PrefixTree tree = build_prefix_tree(view);
  FrameList frames;
  Json all = profile_named("all ranks");
  Json groups = Json::array();  // of those at one place
  for (const TreeWay& way : ways_of(tree)) {
    Json sample = Json::array();  // outermost frame first
    for (const std::size_t node : way.nodes) {
      sample.push_back(frames.index_of(tree.nodes[node]));
    }
    add_sample(all, sample, way.count);
    if (const std::string ranks = ranks_at_end(way);
        !ranks.empty() && groups.size() < kMaxProfiles) {
      add_sample(groups.emplace_back(profile_named(ranks)), sample, way.count);
    }
  }
  Json json;
  json["$schema"] = "https://www.speedscope.app/file-format-schema.json";
  json["shared"]["frames"] = frames.take();
  json["profiles"] = Json::array({std::move(all)});
  if (groups.size() > 1) {
    json["profiles"].insert(json["profiles"].end(), groups.begin(), groups.end());
  }
  json["name"] = title(view.capture());
  json["activeProfileIndex"] = 0;
  json["exporter"] = std::string("oddrank ") + kVersion;
  return json_text(json) + '\n';
}

}  // namespace oddrank::report

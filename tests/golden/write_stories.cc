// Writes the stories into a folder as NNNN.capture, and NNNN.json with the truth about each, in the
// form of tests/jobs: for bench/verdict_score.py and bench/verdict_diff.py.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "snapshot/format/capture_file.h"
#include "tests/golden/stories/story.h"

namespace oddrank::tests {
namespace {

bool write(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return file.good();
}

bool write_story(const Story& story, const std::filesystem::path& stem) {
  const snapshot::Capture capture = story.build().take();
  const nlohmann::json truth = {{"fault", story.path()},
                                {"ranks", capture.job.world_size},
                                {"story", story.after},
                                {"features", nlohmann::json::array()},
                                {"unknown_is_right", story.kind == aggregate::Kind::kUnknown},
                                {"culprits", nlohmann::json::array({story.culprits})},
                                {"kinds", {aggregate::kind_name(story.kind)}}};
  return write(stem.string() + ".capture", snapshot::encode_capture(capture)) &&
         write(stem.string() + ".json", truth.dump());
}

}  // namespace
}  // namespace oddrank::tests

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: write_stories FOLDER\n");
    return 2;
  }
  std::size_t number = 0;
  for (const oddrank::tests::Story& story : oddrank::tests::all_stories()) {
    const std::string name = fmt::format("{:04}", ++number);
    if (!oddrank::tests::write_story(story, std::filesystem::path(arguments[1]) / name)) {
      return 1;
    }
  }
  return 0;
}

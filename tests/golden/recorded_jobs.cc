#include "tests/golden/recorded_jobs.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "base/read_file.h"
#include "snapshot/format/capture_file.h"
#include "tests/support/catch.h"
#include "tests/support/json.h"

namespace oddrank::tests {
namespace {

constexpr std::size_t kMaxArchive = std::size_t{64} << 20;
constexpr std::size_t kBlock = 512;  // block of a tar file: POSIX.1-1988 ustar

// Returns files by name. The archive has nothing but regular files with short names.
std::map<std::string, std::string> read_archive(const std::string& path) {
  const auto text = read_file(path, kMaxArchive);
  REQUIRE(text);
  std::map<std::string, std::string> files;
  std::size_t at = 0;
  while (at + kBlock <= text->size() && (*text)[at] != '\0') {
    const std::string name = text->substr(at, 100).c_str();
    const std::size_t size = std::stoul(text->substr(at + 124, 12), nullptr, 8);
    REQUIRE(at + kBlock + size <= text->size());
    files[name] = text->substr(at + kBlock, size);
    at += kBlock + (size + kBlock - 1) / kBlock * kBlock;
  }
  return files;
}

void add_jobs(const std::string& path, std::vector<RecordedJob>& jobs) {
  const auto files = read_archive(path);
  for (const auto& [name, text] : files) {
    const std::string stem = name.substr(0, name.find('.'));
    if (name != stem + ".json") {
      continue;
    }
    const Json truth = parse_json(text);
    RecordedJob job{stem, truth.at("story").get<std::string>(), files.at(stem + ".capture"), {}};
    for (const Json& culprits : truth.at("culprits")) {
      for (const Json& rank : culprits) {
        job.nameable.insert(rank.get<std::int32_t>());
      }
    }
    jobs.push_back(std::move(job));
  }
}

std::vector<RecordedJob> read_jobs() {
  std::vector<RecordedJob> jobs;
  for (const char* name : {"jobs.tar", "gpu_jobs.tar"}) {
    add_jobs(std::string(ODDRANK_RECORDED_JOBS) + "/" + name, jobs);
  }
  return jobs;
}

}  // namespace

const std::vector<RecordedJob>& recorded_jobs() {
  static const std::vector<RecordedJob> jobs = read_jobs();
  return jobs;
}

snapshot::Capture decode(const RecordedJob& job) {
  auto capture = snapshot::decode_capture(job.bytes);
  INFO(job.name);
  REQUIRE(capture);
  return *std::move(capture);
}

}  // namespace oddrank::tests

#include "watch/rolling_files.h"

#include <dirent.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <cerrno>
#include <ctime>
#include <set>
#include <string_view>

#include "base/unique_fd.h"

namespace oddrank::watch {
namespace {

std::string prefix_of(const std::string& name) {
  return "stall-" + file_word(name) + "-";
}

// Returns the stem of one of our files, "" for any other. A time must follow the prefix: job 47's
// files are not job 471's.
std::string stem_of(std::string_view file, const std::string& prefix) {
  for (const std::string_view ending : {".odd", ".json"}) {
    if (!file.starts_with(prefix) || !file.ends_with(ending) ||
        file.size() <= prefix.size() + ending.size()) {
      continue;
    }
    const std::string_view stem = file.substr(0, file.size() - ending.size());
    if (stem.find_first_not_of("0123456789-.", prefix.size()) == std::string_view::npos) {
      return std::string(stem);
    }
  }
  return {};
}

}  // namespace

std::string file_word(const std::string& name) {
  std::string word = name;
  for (char& letter : word) {
    const auto byte = static_cast<unsigned char>(letter);
    if (std::isalnum(byte) == 0 && letter != '.' && letter != '-' && letter != '_') {
      letter = '_';
    }
  }
  return word;
}

std::string stall_stem(const std::string& name, std::chrono::system_clock::time_point when) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(when);
  const auto since_epoch = when.time_since_epoch();
  const auto fraction =
      std::chrono::duration_cast<std::chrono::milliseconds>(since_epoch).count() % 1000;
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  std::array<char, 32> text{};
  const std::size_t length = std::strftime(text.data(), text.size(), "%Y%m%d-%H%M%S", &utc);
  const std::string digits = std::to_string(1000 + fraction).substr(1);
  return prefix_of(name) + std::string(text.data(), length) + "." + digits;
}

Status keep_newest(const std::string& folder, const std::string& name, std::size_t keep) {
  const std::string prefix = prefix_of(name);
  const Directory directory(::opendir(folder.c_str()));
  if (directory == nullptr) {
    return fail(errno_code(errno), "cannot list " + folder + ": " + errno_text(errno));
  }
  std::set<std::string> stems;
  while (const dirent* entry = next_entry(directory)) {
    if (std::string stem = stem_of(entry->d_name, prefix); !stem.empty()) {
      stems.insert(std::move(stem));
    }
  }
  if (errno != 0) {
    return fail(errno_code(errno), "cannot list " + folder + ": " + errno_text(errno));
  }
  while (stems.size() > keep) {
    const std::string oldest = folder + "/" + *stems.begin();
    ::unlink((oldest + ".odd").c_str());
    ::unlink((oldest + ".json").c_str());
    stems.erase(stems.begin());
  }
  return ok();
}

}  // namespace oddrank::watch

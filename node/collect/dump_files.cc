#include "node/collect/dump_files.h"

#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "attach/files/open_path.h"
#include "base/read_file.h"

namespace oddrank::node {
namespace {

std::vector<std::string> matches_of(const std::string& pattern) {
  std::vector<std::string> paths;
  ::glob_t found{};
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  }
  ::globfree(&found);
  return paths;
}

void add_path(const std::string& path, std::vector<std::string>& files) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) {
    files.push_back(path);
    return;
  }
  std::vector<std::string> inside;
  std::filesystem::recursive_directory_iterator at(
      path, std::filesystem::directory_options::skip_permission_denied, ignored);
  for (; !ignored && at != std::filesystem::recursive_directory_iterator(); at.increment(ignored)) {
    std::error_code gone;
    if (at->is_regular_file(gone)) {
      inside.push_back(at->path().string());
    }
  }
  std::sort(inside.begin(), inside.end());
  files.insert(files.end(), inside.begin(), inside.end());
}

}  // namespace

std::vector<std::string> expand_files(const std::vector<std::string>& arguments) {
  std::vector<std::string> files;
  for (const std::string& argument : arguments) {
    std::error_code ignored;
    const bool there = std::filesystem::exists(argument, ignored);
    const auto matches = there ? std::vector<std::string>{argument} : matches_of(argument);
    if (matches.empty()) {
      files.push_back(argument);
    }
    for (const std::string& path : matches) {
      add_path(path, files);
    }
  }
  return files;
}

Result<FoundFile> read_found_file(const std::string& path, std::size_t limit) {
  ODDRANK_TRY(const UniqueFd fd, attach::open_found_file(path));
  FoundFile file;
  file.written_us = written_us(fd);
  ODDRANK_TRY(file.bytes, read_all(fd.get(), path, limit));
  return file;
}

std::uint64_t written_us(const UniqueFd& file) {
  struct stat info {};
  if (::fstat(file.get(), &info) != 0 || info.st_mtim.tv_sec < 0) {
    return 0;
  }
  return static_cast<std::uint64_t>(info.st_mtim.tv_sec) * 1'000'000 +
         static_cast<std::uint64_t>(info.st_mtim.tv_nsec) / 1000;
}

}  // namespace oddrank::node

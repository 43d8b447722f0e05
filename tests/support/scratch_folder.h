// A folder for the files of one test, removed with all of them at its end.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include "tests/support/catch.h"

namespace oddrank::test {

class ScratchFolder {
 public:
  ScratchFolder() { REQUIRE(::mkdtemp(path_.data()) != nullptr); }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string path(std::string_view name) const { return path_ + "/" + std::string(name); }

  // Writes the file, and the folder that it is in; returns its path.
  std::string put(std::string_view name, std::string_view text) const {
    const std::filesystem::path file = path(name);
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
    return file.string();
  }

  void append(std::string_view name, std::string_view text) const {
    std::ofstream(path(name), std::ios::binary | std::ios::app) << text;
  }

 private:
  std::string path_ = "/tmp/oddrank-test-XXXXXX";
};

}  // namespace oddrank::test

#include "tests/live/python_interpreters.h"

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>

#include "base/parse_number.h"
#include "base/split.h"

namespace oddrank::test {
namespace {

namespace fs = std::filesystem;

// Parses the name: "python3.11" -> 11; "python3.14t" is free-threaded.
std::optional<Interpreter> interpreter_of(const std::string& name) {
  constexpr std::string_view kStart = "python3.";
  if (name.rfind(kStart, 0) != 0) {
    return std::nullopt;
  }
  std::string_view digits = std::string_view(name).substr(kStart.size());
  const bool free_threaded = digits.ends_with('t');
  if (free_threaded || digits.ends_with('m')) {  // 3.6m, 3.7m
    digits.remove_suffix(1);
  }
  const auto minor = parse_number<unsigned>(digits);
  return minor ? std::optional<Interpreter>({{}, *minor, free_threaded}) : std::nullopt;
}

void add(const fs::path& path, std::set<std::string>& seen, std::vector<Interpreter>& all) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  if (error || !seen.insert(real.string()).second) {
    return;
  }
  if (auto interpreter = interpreter_of(real.filename().string())) {
    interpreter->path = real.string();
    all.push_back(*std::move(interpreter));
  }
}

}  // namespace

std::vector<Interpreter> find_interpreters() {
  std::set<std::string> seen;
  std::vector<Interpreter> all;
  if (const char* given = std::getenv("ODDRANK_PYTHONS")) {
    for (const std::string_view path : split(given, ':')) {
      add(fs::path(path), seen, all);
    }
    return all;
  }
  std::error_code error;
  if (const char* home = std::getenv("HOME")) {
    const fs::path versions = fs::path(home) / ".pyenv" / "versions";
    for (const auto& version : fs::directory_iterator(versions, error)) {
      add(version.path() / "bin" / "python3", seen, all);
    }
  }
  add("/usr/bin/python3", seen, all);
  return all;
}

}  // namespace oddrank::test

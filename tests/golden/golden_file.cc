#include "tests/golden/golden_file.h"

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <sstream>

#include "base/read_file.h"
#include "base/write_file.h"

namespace oddrank::tests {

std::string compare_golden(std::string_view name, const std::string& actual) {
  const std::string path = std::string(ODDRANK_GOLDEN_FOLDER) + '/' + std::string(name);
  const char* update = std::getenv("UPDATE_GOLDEN");
  if (update != nullptr && std::string_view(update) == "1") {
    std::error_code ignored;  // the write itself reports errors
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
    const auto written = write_file(path, actual);
    std::cout << "wrote " << path << std::endl;
    return written ? "" : written.error().what;
  }
  const auto expected = read_file(path);
  if (!expected) {
    return expected.error().what + " (UPDATE_GOLDEN=1 writes it)";
  }
  if (*expected == actual) {
    return "";
  }
  std::istringstream want(*expected);
  std::istringstream got(actual);
  std::string want_line;
  std::string got_line;
  for (int number = 1;; ++number) {
    const bool more_wanted = static_cast<bool>(std::getline(want, want_line));
    const bool more_got = static_cast<bool>(std::getline(got, got_line));
    if (!more_wanted && !more_got) {
      return path + ": line ends differ";
    }
    if (want_line != got_line || more_wanted != more_got) {
      return path + ":" + std::to_string(number) +
             "\n  expected: " + (more_wanted ? want_line : "(end)") +
             "\n  got:      " + (more_got ? got_line : "(end)");
    }
  }
}

}  // namespace oddrank::tests

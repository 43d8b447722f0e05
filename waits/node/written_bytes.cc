#include "waits/node/written_bytes.h"

#include <string>

#include "base/parse_number.h"
#include "base/read_file.h"
#include "base/split.h"

namespace oddrank::waits {
namespace {

constexpr std::size_t kMaxIoText = 4096;
}  // namespace

IoBytes parse_io(std::string_view io) {
  const auto value_of = [](std::string_view line, std::string_view name) {
    const auto count = parse_number<std::int64_t>(line.substr(name.size()));
    return count && *count >= 0 ? *count : -1;
  };
  IoBytes bytes;
  for (const std::string_view line : split(io, '\n')) {
    if (line.starts_with("wchar: ")) {
      bytes.written = value_of(line, "wchar: ");
    } else if (line.starts_with("rchar: ")) {
      bytes.read = value_of(line, "rchar: ");
    }
  }
  return bytes;
}

IoBytes read_io(pid_t pid) {
  const auto text = read_file("/proc/" + std::to_string(pid) + "/io", kMaxIoText);
  return text ? parse_io(*text) : IoBytes();
}

void FirstIo::subtract_from(snapshot::ProcessCapture& sample) {
  const IoBytes now{sample.written_bytes, sample.read_bytes};
  const IoBytes first = first_.emplace(sample.pid, now).first->second;
  const auto since = [](std::int64_t before, std::int64_t after) {
    return before >= 0 && after >= before ? after - before : -1;
  };
  sample.written_bytes = since(first.written, now.written);
  sample.read_bytes = since(first.read, now.read);
}

}  // namespace oddrank::waits

#include "collectives/torch/traceback_lines.h"

#include <algorithm>
#include <span>

#include "collectives/flight/recorded_words.h"
#include "cpython/line_table.h"

namespace oddrank::collectives {
namespace {

using cpython::RemoteReader;

constexpr std::string_view kTracebackClass = "N5torch17CapturedTracebackE";
constexpr std::uint64_t kTracebackFrames = 8;  // std::vector, behind the virtual table
constexpr std::uint64_t kMaxTracebackFrames = 512;

}  // namespace

void TracebackLines::announce(RemoteReader& reader,
                              std::size_t count,
                              const std::function<Addr(std::size_t)>& traceback) {
  if (python_ == nullptr) {
    return;
  }
  std::vector<RemoteReader::Range> ranges;
  for (std::size_t i = 0; i < count; ++i) {
    ranges.push_back({traceback(i), kTracebackFrames + 16});
  }
  reader.prefetch(ranges);
  std::vector<Addr> codes;
  for (std::size_t i = 0; i < count; ++i) {
    for (const TracebackFrame& frame : frames_of(reader, traceback(i))) {
      codes.push_back(Addr{frame.code});
    }
  }
  std::sort(codes.begin(), codes.end());
  codes.erase(std::unique(codes.begin(), codes.end()), codes.end());
  codes_.load(*python_, codes);
}

std::vector<TracebackLines::TracebackFrame> TracebackLines::frames_of(RemoteReader& reader,
                                                                      Addr traceback) {
  if (traceback == Addr{}) {
    return {};
  }
  const Addr table = reader.pointer_or_null(traceback);
  const auto [at, is_new] = classes_.try_emplace(value_of(table), false);
  if (is_new) {
    at->second = class_of(reader, traceback) == kTracebackClass;
  }
  const Addr begin = reader.pointer_or_null(traceback + kTracebackFrames);
  const Addr end = reader.pointer_or_null(traceback + kTracebackFrames + 8);
  const std::uint64_t bytes = value_of(end) - value_of(begin);
  if (!at->second || value_of(end) < value_of(begin) || bytes % sizeof(TracebackFrame) != 0 ||
      bytes / sizeof(TracebackFrame) > kMaxTracebackFrames) {
    return {};
  }
  std::vector<TracebackFrame> frames(bytes / sizeof(TracebackFrame));
  if (frames.empty() || !reader.read(begin, std::as_writable_bytes(std::span(frames)))) {
    return {};
  }
  return frames;
}

std::string TracebackLines::place(RemoteReader& reader, Addr traceback) {
  if (python_ == nullptr) {
    return {};
  }
  for (const TracebackFrame& frame : frames_of(reader, traceback)) {
    const cpython::CodeObject& code = codes_.at(Addr{frame.code});
    if (!code.readable || code.file.empty() || is_below_caller(code.file)) {
      continue;
    }
    const std::uint32_t line = cpython::line_of(python_->layout().semantics.lines, code.line_table,
                                                code.first_line, frame.instruction);
    const auto dot = code.function.rfind('.');
    return recorded_place(dot == std::string::npos ? code.function : code.function.substr(dot + 1),
                          code.file, line);
  }
  return {};
}

}  // namespace oddrank::collectives

// What bench/counts.py counts the instructions of, once each, in measured_work():
//   counts unwind IMAGE       unwinds every thread of a recorded process, each by itself
//   counts python IMAGE       reads its Python frames, the runtime is found before
//   counts captures FOLDER    decodes and merges the captures there, and gives the verdict
//   counts verdict RANKS      the view, the verdict, the text and the JSON of a made-up job
// and what makes the recordings:
//   counts record PID IMAGE   of a blocked Python process
//   counts make RANKS FOLDER  a capture a node of a made-up job
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "aggregate/diagnose.h"
#include "attach/live_target.h"
#include "attach/proc_maps.h"
#include "base/parse_number.h"
#include "base/read_file.h"
#include "bench/recorded_image.h"
#include "bench/scale_job.h"
#include "cpython/python_process.h"
#include "elf/module_map.h"
#include "report/report_json.h"
#include "report/report_text.h"
#include "snapshot/format/capture_file.h"
#include "snapshot/merge.h"
#include "unwind/native_unwind.h"

// Named for callgrind's --toggle-collect.
extern "C" void measured_work(const std::function<void()>& work);
__attribute__((noinline)) void measured_work(const std::function<void()>& work) {
  work();
}

namespace oddrank::bench {
namespace {

using snapshot::Capture;

constexpr std::size_t kMaxCaptureBytes = std::size_t{64} << 20;

int complain(const Error& error) {
  std::fprintf(stderr, "%s\n", error.what.c_str());
  return 1;
}

// Returns the number of native frames of all threads, each unwound by itself.
std::size_t unwind_each(const attach::Target& target,
                        elf::ModuleMap& modules,
                        const std::vector<attach::ThreadState>& threads) {
  unwind::NativeUnwinder unwinder(target, modules);
  std::size_t frames = 0;
  for (const attach::ThreadState& thread : threads) {
    frames += unwinder.unwind(thread).frames.size();
  }
  return frames;
}

std::size_t python_frames(const cpython::PythonProcess& python) {
  std::size_t frames = 0;
  if (const auto threads = python.threads(cpython::Locals::kDeciding)) {
    for (const auto& thread : *threads) {
      frames += thread.frames.size();
    }
  }
  return frames;
}

int count_process(const std::string& what, const std::string& path) {
  const auto target = RecordedTarget::open(path);
  if (!target) {
    return complain(target.error());
  }
  (*target)->offers_program = what == "python";
  elf::ModuleMap modules(**target);
  std::size_t frames = 0;
  if (what == "unwind") {
    const auto threads = (*target)->threads();
    measured_work([&] { frames = unwind_each(**target, modules, *threads); });
  } else {
    const auto python = cpython::PythonProcess::find(**target, modules);
    if (!python) {
      return complain(python.error());
    }
    measured_work([&] { frames = python_frames(*python); });
  }
  std::printf("%zu frames\n", frames);
  return frames > 0 ? 0 : 1;
}

int count_captures(const std::string& folder) {
  std::vector<std::string> files;
  for (std::size_t node = 0;; ++node) {
    auto bytes = read_file(folder + "/" + std::to_string(node) + ".odd", kMaxCaptureBytes);
    if (!bytes) {
      break;
    }
    files.push_back(*std::move(bytes));
  }
  std::string sentence;
  measured_work([&] {
    Capture whole;
    snapshot::Merger merger(whole);
    for (const std::string& bytes : files) {
      if (auto part = snapshot::decode_capture(bytes)) {
        merger.add(*std::move(part));
      }
    }
    sentence = report::report_sentence(aggregate::diagnose(whole));
  });
  std::printf("%zu captures: %s\n", files.size(), sentence.c_str());
  return files.empty() ? 1 : 0;
}

int count_verdict(std::int32_t ranks) {
  ScaleJob job(ranks, 4);
  Capture whole;
  snapshot::Merger merger(whole);
  for (std::int32_t node = 0; node < job.nodes(); ++node) {
    merger.add(job.node(node));
  }
  std::size_t bytes = 0;
  measured_work([&] {
    aggregate::FrameModel model(whole.tables);
    const aggregate::JobView view(whole, model);
    const auto report = aggregate::diagnose(view);
    bytes = report::report_text(report, view, {}).size() + report::report_json(report, view).size();
  });
  std::printf("%zu bytes\n", bytes);
  return 0;
}

int record(pid_t pid, const std::string& path) {
  const auto live = attach::LiveTarget::open(pid);
  auto maps = attach::read_proc_maps(pid);
  if (!live || !maps) {
    return complain(live ? maps.error() : live.error());
  }
  RecordingTarget target(**live, *std::move(maps));
  const auto threads = target.threads();
  target.offers_program = true;
  elf::ModuleMap with_program(target);
  const auto python = cpython::PythonProcess::find(target, with_program);
  if (!threads || !python) {
    return complain(threads ? python.error() : threads.error());
  }
  const std::size_t frames = python_frames(*python);
  target.offers_program = false;
  elf::ModuleMap modules(target);
  const std::size_t native = unwind_each(target, modules, *threads);
  std::ofstream(path, std::ios::binary) << target.image();
  std::printf("%zu threads, %zu Python frames, %zu native frames\n", threads->size(), frames,
              native);
  return 0;
}

int make(std::int32_t ranks, const std::string& folder) {
  ScaleJob job(ranks, 4);
  for (std::int32_t node = 0; node < job.nodes(); ++node) {
    std::ofstream(folder + "/" + std::to_string(node) + ".odd", std::ios::binary)
        << snapshot::encode_capture(job.node(node));
  }
  return 0;
}

int run(const std::string& what, const std::string& first, const std::string& second) {
  const auto number = parse_number<std::int32_t>(first);
  if (what == "unwind" || what == "python") {
    return count_process(what, first);
  }
  if (what == "captures") {
    return count_captures(first);
  }
  if (what == "verdict" && number) {
    return count_verdict(*number);
  }
  if (what == "record" && number) {
    return record(*number, second);
  }
  if (what == "make" && number) {
    return make(*number, second);
  }
  std::fprintf(stderr, "see the head of bench/counts.cc\n");
  return 2;
}

}  // namespace
}  // namespace oddrank::bench

int main(int count, char** arguments) {
  const auto word = [&](int at) { return std::string(at < count ? arguments[at] : ""); };
  return oddrank::bench::run(word(1), word(2), word(3));
}

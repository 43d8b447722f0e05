#include "cli/watch_examine.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "aggregate/diagnose.h"
#include "base/isolated.h"
#include "base/printable.h"
#include "base/read_file.h"
#include "base/split.h"
#include "base/write_file.h"
#include "node/collect/dump_files.h"
#include "report/report_json.h"
#include "report/report_text.h"
#include "snapshot/format/capture_file.h"
#include "snapshot/rewrite.h"
#include "watch/rolling_files.h"

namespace oddrank::cli {
namespace {

using snapshot::Capture;
using snapshot::ProcessCapture;
using watch::Examination;
using watch::PastFile;

constexpr std::chrono::milliseconds kExaminePatience{60000};
constexpr std::chrono::milliseconds kPastPatience{5000};
constexpr std::chrono::milliseconds kCheckPatience{10000};
constexpr std::size_t kRoomForCapture = std::size_t{1} << 20;  // of some hundred nodes
constexpr std::size_t kRoomForMetrics = std::size_t{1} << 16;
constexpr std::size_t kMaxPasts = 8;

// Returns the culprits, and the ranks that were not read in full: for these the past says more than
// the capture.
std::vector<const ProcessCapture*> with_wanted_past(const Capture& capture,
                                                    const aggregate::Diagnosis& report) {
  std::set<std::int32_t> culprits;
  for (const auto& culprit : report.verdict.culprits) {
    culprits.insert(culprit.rank);
  }
  std::vector<const ProcessCapture*> wanted;
  for (const ProcessCapture& process : capture.processes) {
    const bool named = culprits.count(process.rank) != 0;
    const bool unread = process.read != snapshot::ReadState::kFull;
    if (process.is_rank && process.rank >= 0 && (named || unread) && wanted.size() < kMaxPasts) {
      wanted.push_back(&process);
    }
  }
  return wanted;
}

// Returns "" if the past is unknown.
std::string past_of(const ProcessCapture& process,
                    const std::vector<PastFile>& own,
                    const KeepOptions& options) {
  for (const PastFile& past : own) {
    if (past.pid == process.pid && past.rank == process.rank) {
      return past.words;
    }
  }
  if (options.folder.empty()) {
    return {};
  }
  const auto file =
      node::read_found_file(watch::past_path(options.folder, options.name, process.rank), 4096);
  const auto past = file ? watch::decode_past(file->bytes) : std::nullopt;
  // The past of an earlier run must not be used.
  return past && past->rank == process.rank && past->pid == process.pid ? past->words : "";
}

void add_pasts(Capture& capture,
               const aggregate::Diagnosis& report,
               const watch::TakenCapture& taken,
               const KeepOptions& options) {
  std::map<std::int32_t, const ProcessCapture*> wanted;
  for (const ProcessCapture* process : with_wanted_past(capture, report)) {
    wanted.emplace(process->rank, process);
  }
  if (taken.pasts.size() == 1) {  // the watcher's own rank
    for (const ProcessCapture& process : capture.processes) {
      if (process.is_rank && process.pid == taken.pasts.front().pid &&
          process.rank == taken.pasts.front().rank) {
        wanted.emplace(process.rank, &process);
      }
    }
  }
  for (const auto& [rank, process] : wanted) {
    const std::string words = past_of(*process, taken.pasts, options);
    if (!words.empty() && process->node < capture.nodes.size()) {
      capture.nodes[process->node].notes.push_back(
          (rank >= 0 ? "rank " + std::to_string(rank) : "pid " + std::to_string(process->pid)) +
          " " + words);
    }
  }
}

// Saves into the user's folder if there is one; otherwise the JSON goes into the watch's own
// folder.
void save_examined(const Capture& capture,
                   const std::string& json,
                   const watch::TakenCapture& taken,
                   const KeepOptions& options,
                   Examination& examination) {
  if (!options.folder.empty()) {
    ::mkdir(options.folder.c_str(), 0777);  // if it fails, writing fails too and says why
    const std::string stem =
        options.folder + "/" + watch::stall_stem(options.name, std::chrono::system_clock::now());
    Status written =
        write_file(stem + ".odd", snapshot::encode_capture(capture), options.mode.bits);
    if (written) {
      examination.capture = stem + ".odd";
      written = write_file(stem + ".json", json, options.mode.bits);
    }
    if (written) {
      examination.json = stem + ".json";
      written = watch::keep_newest(options.folder, options.name, options.keep);
    }
    if (!written) {
      examination.trouble = written.error().what;
    }
  }
  if (examination.json.empty() && write_file(taken.folder + "/report.json", json)) {
    examination.json = taken.folder + "/report.json";
  }
}

Result<Examination> examine_here(const watch::TakenCapture& taken, const KeepOptions& options) {
  ODDRANK_TRY(const std::string bytes, read_file(taken.file, std::size_t{1} << 30));
  ODDRANK_TRY(Capture capture, snapshot::decode_capture(bytes));
  aggregate::Diagnosis report = aggregate::diagnose(capture);
  if (report.coverage.read + report.coverage.partial == 0) {
    return fail(Errc::kNotFound, report.coverage.unread.empty()
                                     ? "no rank was read"
                                     : "no rank was read: " + report.coverage.unread.front().why);
  }
  add_pasts(capture, report, taken, options);
  if (options.redact) {
    capture = snapshot::redacted(capture);
  }
  aggregate::FrameModel model(capture.tables);
  const aggregate::JobView view(capture, model);
  report = aggregate::diagnose(view);
  Examination examination;
  examination.stall = aggregate::is_stall(report.verdict.kind);
  examination.kind = aggregate::kind_name(report.verdict.kind);
  examination.summary = std::string(trim(report::report_sentence(report)));
  examination.text = report::report_text(report, view, {});
  if (examination.stall || taken.asked) {
    save_examined(capture, printable_text(report::report_json(report, view)), taken, options,
                  examination);
  }
  return examination;
}

// Each field ends with NUL, which no field contains; the first one distinguishes success from
// failure.
std::string encode(const Result<Examination>& examination) {
  std::string text;
  const auto put = [&text](const std::string& field) {
    text += field;
    text += '\0';
  };
  if (!examination) {
    put("error");
    put(examination.error().what);
    return text;
  }
  put(examination->stall ? "stall" : "moves");
  for (const std::string* field :
       {&examination->kind, &examination->summary, &examination->text, &examination->capture,
        &examination->json, &examination->trouble}) {
    put(*field);
  }
  return text;
}

Result<Examination> decode(const IsolatedResult& result) {
  const auto fields = split(result.bytes, '\0');
  if (fields.size() >= 2 && fields[0] == "error") {
    return fail(Errc::kBadData, std::string(fields[1]));
  }
  if (fields.size() < 7) {
    return fail(Errc::kTimeout, result.end == IsolatedEnd::kDeadline
                                    ? "the capture could not be examined and saved in time"
                                    : "the capture could not be examined");
  }
  Examination examination;
  examination.stall = fields[0] == "stall";
  examination.kind = fields[1];
  examination.summary = fields[2];
  examination.text = fields[3];
  examination.capture = fields[4];
  examination.json = fields[5];
  examination.trouble = fields[6];
  return examination;
}

// Writes the file, or removes it if there is nothing to write, in a child with a deadline. Makes
// its `folder` first, if that is given.
void put_file(const std::string& path,
              const std::string& bytes,
              mode_t mode,
              const std::string& folder) {
  const IsolatedTask task{[&](int) {
                            if (bytes.empty()) {
                              ::unlink(path.c_str());
                              return;
                            }
                            if (!folder.empty()) {
                              ::mkdir(folder.c_str(), 0777);
                            }
                            (void)write_file(path, bytes, mode);
                          },
                          kPastPatience,
                          {.files = true}};
  run_isolated({task}, 1);
}

// Returns why such a file cannot be written, "" if it can; finds out in a child with a deadline.
// Makes its `folder` first, if that is given.
std::string why_unwritable(const std::string& path, std::size_t bytes, const std::string& folder) {
  const IsolatedTask task{[&](int fd) {
                            if (!folder.empty()) {
                              ::mkdir(folder.c_str(), 0777);
                            }
                            const Status writable = check_writable(path, bytes);
                            send_bytes(fd, writable ? "" : writable.error().what);
                          },
                          kCheckPatience,
                          {.files = true}};
  const IsolatedResult result = run_isolated({task}, 1).front();
  return result.end == IsolatedEnd::kFinished ? result.bytes : path + " did not respond";
}

}  // namespace

Status check_keep(const KeepOptions& options) {
  if (options.folder.empty()) {
    return ok();
  }
  const std::string stem = watch::stall_stem(options.name, std::chrono::system_clock::now());
  const std::string why =
      why_unwritable(options.folder + "/" + stem + ".odd", kRoomForCapture, options.folder);
  return why.empty() ? ok()
                     : fail(Errc::kIo, "captures cannot be saved: " + why,
                            "give --save a folder that you can write to, with free space");
}

Status check_metrics(const std::string& path) {
  const std::string why = why_unwritable(path, kRoomForMetrics, "");
  return why.empty() ? ok()
                     : fail(Errc::kIo, "metrics cannot be written: " + why,
                            "give --metrics an existing folder that you can write to: the one that "
                            "node_exporter's --collector.textfile.directory names");
}

Result<Examination> examine(const watch::TakenCapture& taken, const KeepOptions& options) {
  const IsolatedTask task{[&](int fd) { send_bytes(fd, encode(examine_here(taken, options))); },
                          kExaminePatience,
                          {.files = true}};
  return decode(run_isolated({task}, 1).front());
}

void publish_metrics(const watch::WatchMetrics* metrics,
                     const std::string& path,
                     const std::string& name) {
  constexpr mode_t kForCollectors = 0644;
  // If it cannot be written, the old one tells how old it is.
  put_file(path, metrics == nullptr ? "" : watch::metrics_text(*metrics, name), kForCollectors, "");
}

void leave_past(const watch::PastFile& past, const KeepOptions& options) {
  if (options.folder.empty() || past.rank < 0) {
    return;
  }
  // If it cannot be written, a report merely lacks it.
  put_file(watch::past_path(options.folder, options.name, past.rank),
           past.words.empty() ? "" : watch::encode_past(past), options.mode.bits, options.folder);
}

}  // namespace oddrank::cli

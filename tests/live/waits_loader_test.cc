// A real rank whose DataLoader worker is stuck in read() of a FIFO: the rank's wait names the
// worker.
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "attach/live_target.h"
#include "base/parse_number.h"
#include "base/read_file.h"
#include "base/split.h"
#include "snapshot/capture.h"
#include "stacks/collect.h"
#include "tests/support/catch.h"
#include "tests/support/sentence_of.h"
#include "tests/support/torch_python.h"
#include "tests/support/victim.h"
#include "waits/node/collect_waits.h"
#include "waits/node/join_processes.h"

namespace oddrank::waits {
namespace {

using snapshot::Capture;
using snapshot::Known;
using snapshot::WaitOn;

// Two ranks of tests/victims/train.py; rank 1 gets no data. The script that runs them ends them at
// the end of its stdin, so it must not be killed before that.
class Job {
 public:
  explicit Job(const std::string& python) {
    std::string name = (std::filesystem::temp_directory_path() / "oddrank-loader-XXXXXX").string();
    folder_ = ::mkdtemp(name.data()) != nullptr ? name : std::string();
    test::VictimOptions options;
    options.die_with_test = false;
    auto script =
        test::Victim::start({python, test::victim_script("../support/training_job.py"), "local",
                             folder_, "--python", python, "--ranks", "2", "--rank", "1"},
                            options);
    REQUIRE(script);
    script_.emplace(*std::move(script));
  }
  ~Job() {
    script_->close_stdin();
    (void)script_->wait_end();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  Job(Job&&) = delete;
  Job& operator=(Job&&) = delete;

  // Returns the pid of rank 1 when the job hangs.
  pid_t wait_hung() {
    // Importing torch alone takes seconds on a loaded machine.
    const auto line = script_->wait_line("hung", Deadline::after(std::chrono::seconds(50)));
    INFO((line ? *line : line.error().what));
    REQUIRE(line);
    const auto pids = split_blanks(*line);
    REQUIRE(pids.size() == 2);
    return parse_number<pid_t>(pids[1]).value_or(0);
  }
  std::string shard() const { return folder_ + "/data/shard-1.tar"; }

 private:
  std::string folder_;
  std::optional<test::Victim> script_;
};

pid_t only_child(pid_t pid) {
  const std::string id = std::to_string(pid);
  const auto text = read_file("/proc/" + id + "/task/" + id + "/children");
  REQUIRE(text);
  const auto children = split_blanks(*text);
  REQUIRE(children.size() == 1);
  return parse_number<pid_t>(children[0]).value_or(0);
}

void add(Capture& capture, pid_t pid, pid_t parent) {
  capture.processes.emplace_back();
  snapshot::ProcessCapture& process = capture.processes.back();
  process.pid = pid;
  process.parent = parent;
  process.is_rank = parent == 0;
  process.owner = process.is_rank ? pid : parent;
  const auto target = attach::LiveTarget::open(pid);
  REQUIRE(target);
  auto read = stacks::collect_stacks(**target, {}, capture.tables, process);
  REQUIRE(read);
  collect_waits(**target, read->threads, read->python, capture.tables, process);
}

TEST_CASE("a rank that waits for its loader names the worker and the worker's file") {
  const auto python = test::torch_python();
  if (!python) {
    ODDRANK_SKIP("no Python with PyTorch: set ODDRANK_TORCH_PYTHON, or run scripts/setup");
  }
  Job job(*python);
  const pid_t rank = job.wait_hung();
  const pid_t worker = only_child(rank);
  Capture capture;
  add(capture, rank, 0);
  add(capture, worker, rank);
  join_processes(capture);
  const snapshot::Wait& wait = capture.processes[0].threads[0].wait;
  const std::string words =
      tests::sentence_of(capture, capture.processes[0], capture.processes[0].threads[0]);
  INFO(words);
  CHECK(wait.on == WaitOn::kInput);
  CHECK(wait.holder_pid == worker);
  CHECK(wait.holder_alive == Known::kYes);
  CHECK(capture.tables.text(wait.path) == job.shard());
  CHECK(words.find("in read() of " + job.shard()) != std::string::npos);
  const snapshot::Wait& theirs = capture.processes[1].threads[0].wait;
  CHECK(theirs.on == WaitOn::kFile);
  CHECK(capture.tables.text(theirs.syscall_name) == "read");
}

}  // namespace
}  // namespace oddrank::waits

// gather() with a made-up srun on PATH: a shell script that behaves as the real one was seen to
// behave. The real one is tested in tests/cluster.
#include "slurm/gather.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/deadline.h"
#include "base/parse_number.h"
#include "base/read_file.h"
#include "base/split.h"
#include "reach/wire/frames.h"
#include "tests/support/catch.h"

namespace oddrank::slurm {
namespace {

using std::chrono::milliseconds;

// Runs as "srun". A test puts a file all.sh into the folder for the step over all nodes, and
// NODE.sh for the step over one; each is a shell script.
constexpr const char* kSrun = R"(#!/bin/sh
echo $$ >> "$FAKE/pids"
which=all
arguments="$*"
while [ $# -gt 0 ]; do
  if [ "$1" = -w ]; then which=$2; fi
  shift
done
echo "$which" >> "$FAKE/calls"
. "$FAKE/$which.sh"
)";

class FakeSlurm {
 public:
  explicit FakeSlurm(std::size_t nodes) {
    char name[] = "/tmp/oddrank-fake-slurm-XXXXXX";
    folder_ = ::mkdtemp(name);
    write("srun", kSrun);
    write("sbcast", "#!/bin/sh\necho \"$*\" >> $FAKE/copies\n");
    write("sinfo", "#!/bin/sh\necho 'n1|down*|power supply'\n");
    ::setenv("FAKE", folder_.c_str(), 1);
    ::setenv("PATH", (folder_ + ":/usr/bin:/bin").c_str(), 1);
    job.id = "3";
    for (std::size_t i = 0; i < nodes; ++i) {
      job.hosts.push_back("n" + std::to_string(i));
      const std::string host = job.hosts.back();
      const std::uint64_t stream = reach::new_stream_id();
      write(host + ".hello", labelled(i, reach::encode_hello({host, stream})));
      write(host + ".frames", labelled(i, reach::encode_frames({host, stream}, payload(host))));
      write(host + ".sh", "cat $FAKE/$which.hello $FAKE/$which.frames\n");
    }
    options.agent_path = "/shared/oddrank";
    options.node_timeout = milliseconds(30000);
  }
  ~FakeSlurm() {
    for (const pid_t pid : pids()) {
      ::kill(pid, SIGKILL);
    }
    std::filesystem::remove_all(folder_);
    ::setenv("PATH", path_.c_str(), 1);
  }
  FakeSlurm(const FakeSlurm&) = delete;
  FakeSlurm& operator=(const FakeSlurm&) = delete;
  FakeSlurm(FakeSlurm&&) = delete;
  FakeSlurm& operator=(FakeSlurm&&) = delete;

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + "/" + name) << text;
    ::chmod((folder_ + "/" + name).c_str(), 0755);
  }
  static std::string labelled(std::size_t task, const std::string& lines) {
    std::string text;
    for (const std::string_view line : split(lines, '\n')) {
      text += std::to_string(task) + ": " + std::string(line) + "\n";
    }
    return text;
  }
  static std::string payload(const std::string& host) { return host + std::string(5000, 'x'); }
  std::string text(const std::string& name) const {
    return read_file(folder_ + "/" + name).value_or("");
  }
  std::string calls() const { return text("calls"); }
  // Returns the pids of all sruns so far.
  std::vector<pid_t> pids() const {
    std::vector<pid_t> all;
    const std::string text = read_file(folder_ + "/pids").value_or("");
    for (const std::string_view word : split_blanks(text)) {
      all.push_back(parse_number<pid_t>(word).value_or(-1));
    }
    return all;
  }
  bool all_gone() const {
    const Deadline deadline = Deadline::after(milliseconds(20000));
    for (const pid_t pid : pids()) {
      while (::kill(pid, 0) == 0) {
        if (deadline.passed()) {
          return false;
        }
        ::usleep(2000);
      }
    }
    return true;
  }
  reach::GatherResult gather_ok() const {
    auto result = gather(job, options);
    REQUIRE(result);
    return *std::move(result);
  }

  Job job;
  GatherOptions options;

 private:
  std::string folder_;
  std::string path_ = ::getenv("PATH");  // NOLINT(concurrency-mt-unsafe): one thread
};

void check_node(const reach::NodeAnswer& node, bool answered) {
  INFO(node.host << ": " << node.why);
  CHECK(node.answered == answered);
  CHECK(node.why.empty() == answered);
  CHECK((node.payload == (answered ? FakeSlurm::payload(node.host) : "")));
}

void check_answers(const reach::GatherResult& result, const std::string& silent = "") {
  for (const reach::NodeAnswer& node : result.nodes) {
    check_node(node, node.host != silent);
  }
}

TEST_CASE("all nodes answer, each once, and progress is reported") {
  FakeSlurm slurm(4);
  slurm.write("all.sh",
              "cat $FAKE/*.hello $FAKE/n[3210].frames $FAKE/n0.frames\n"
              "echo '2: a warning of the agent' >&2\n");
  std::vector<std::size_t> seen;
  slurm.options.progress = [&seen](const reach::GatherProgress& now) {
    CHECK(now.total == 4);
    CHECK((now.done == 0 || now.waiting_for.empty() == (now.done == 4)));
    seen.push_back(now.done);
  };
  const reach::GatherResult result = slurm.gather_ok();
  check_answers(result);
  CHECK(result.answered() == 4);
  REQUIRE_FALSE(seen.empty());
  CHECK(std::is_sorted(seen.begin(), seen.end()));
  CHECK(seen.back() == 4);
  CHECK(result.nodes[2].agent_text == "a warning of the agent\n");
  CHECK(slurm.calls() == "all\n");
}

TEST_CASE("gather waits for an agent that reports why it takes longer, not for a silent one") {
  FakeSlurm slurm(2);
  slurm.options.node_timeout = milliseconds(2500);
  slurm.options.slack = milliseconds(500);
  slurm.options.longest_delay = milliseconds(60000);
  slurm.write("n0.doing",
              "0: " + reach::encode_doing({"n0", 5}, "waits are young, sampling again (3)"));
  slurm.write("all.sh",
              "cat $FAKE/n0.hello $FAKE/n0.doing; sleep 4; cat $FAKE/n0.frames\n"
              "exec sleep 60\n");
  slurm.write("n1.sh", "exec sleep 60\n");
  std::string doing;
  slurm.options.progress = [&doing](const reach::GatherProgress& now) {
    doing = std::max(doing, now.doing);
  };
  const reach::GatherResult result = slurm.gather_ok();
  check_answers(result, "n1");
  CHECK(doing == "waits are young, sampling again (3)");
  CHECK(result.nodes[1].why.find("did not answer in 2.5 s") != std::string::npos);
  CHECK(result.took < milliseconds(30000));  // the silent one was not waited for any longer
}

TEST_CASE("the agent's file is sent to the nodes that lack it, all in one step") {
  FakeSlurm slurm(3);
  // The message of 22.05.
  slurm.write("all.sh", R"(cat $FAKE/n0.hello $FAKE/n0.frames
for task in 1 2; do
  echo "$task: slurmstepd: error: execve(): /shared/oddrank: No such file or directory" >&2
done
echo 'srun: error: n1: task 1: Exited with exit code 2' >&2
echo 'srun: error: n2: task 2: Exited with exit code 2' >&2
exit 2
)");
  slurm.write("n0.sh", "echo \"$arguments\" > $FAKE/removed\n");
  slurm.write("n1,n2.sh", R"(echo "$arguments" > $FAKE/arguments
cat $FAKE/n1.hello $FAKE/n1.frames | sed 's/^1: /0: /'
cat $FAKE/n2.hello $FAKE/n2.frames | sed 's/^2: /1: /'
)");
  const reach::GatherResult result = slurm.gather_ok();
  check_answers(result);
  CHECK(slurm.calls() == "all\nn1,n2\nn0\n");
  const std::string copies = slurm.text("copies");
  const std::string sent = "--force -j 3 /shared/oddrank /tmp/oddrank-";
  REQUIRE(copies.starts_with(sent));
  const std::string copy =
      copies.substr(copies.rfind(' ') + 1, copies.find('\n') - copies.rfind(' ') - 1);
  const std::string arguments = slurm.text("arguments");
  CHECK(arguments.find(" " + copy + " ") != std::string::npos);
  CHECK(arguments.find("--delete-self " + copy) != std::string::npos);
  CHECK(slurm.text("removed").find("/bin/rm -f -- " + copy) != std::string::npos);
}

TEST_CASE("a node that was sent the agent is waited for, and not retried without it") {
  FakeSlurm slurm(2);
  slurm.options.node_timeout = milliseconds(12000);
  constexpr const char* kLacks = R"(
echo "$task: slurmstepd: error: execve(): /shared/oddrank: No such file or directory" >&2
echo "srun: error: n1: task $task: Exited with exit code 2" >&2
exit 2
)";
  const std::string slow = std::string(R"(case "$arguments" in
*--delete-self*) sleep 3; cat $FAKE/n1.hello $FAKE/n1.frames; exit 0;;
esac
task=0)") + kLacks;
  slurm.write("n1.sh", slow);
  SECTION("the first step reports that the node has none") {
    slurm.write("all.sh", std::string("cat $FAKE/n0.hello $FAKE/n0.frames\ntask=1") + kLacks);
    check_answers(slurm.gather_ok());
    CHECK(slurm.calls() == "all\nn1\nn0\n");
  }
  SECTION("only the retry of that node reports it") {
    slurm.write("all.sh", "cat $FAKE/n0.hello $FAKE/n0.frames\nexec sleep 100\n");
    check_answers(slurm.gather_ok());
    CHECK(slurm.calls() == "all\nn1\nn1\nn0\n");
  }
}

TEST_CASE(
    "if programs may not be run from a folder, the copy there is removed and another one is "
    "tried") {
  FakeSlurm slurm(1);
  slurm.options.send_to = {"/none", "/tmp", "/dev/shm"};
  slurm.write("sbcast", R"(#!/bin/sh
echo "$*" >> $FAKE/copies
case "$*" in
*/none/*) echo 'sbcast: error: REQUEST_FILE_BCAST(n0): No such file or directory' >&2; exit 1;;
esac
)");
  slurm.write("all.sh", R"(case "$arguments" in
*/bin/rm*) echo "$arguments" >> $FAKE/removed; exit 0;;
esac
echo "0: slurmstepd: error: execve(): /shared/oddrank: No such file or directory" >&2
exit 2
)");
  slurm.write("n0.sh", R"(case "$arguments" in
*/dev/shm/oddrank*) cat $FAKE/n0.hello $FAKE/n0.frames; exit 0;;
esac
program=${arguments##*--delete-self }
echo "0: slurmstepd: error: execve(): $program: Permission denied" >&2
exit 13
)");
  const reach::GatherResult result = slurm.gather_ok();
  check_answers(result);
  CHECK(slurm.calls() == "all\nn0\nn0\nall\n");
  CHECK(slurm.text("removed").find("/bin/rm -f -- /tmp/oddrank-") != std::string::npos);
  CHECK(result.notes == std::vector<std::string>{
                            "/shared/oddrank is not on n0: a copy was sent there, into /dev/shm"});
  CHECK(result.nodes[0].lacks_program);
  CHECK(result.nodes[0].copied_to == "/dev/shm");
  CHECK_FALSE(result.nodes[0].from_memory);
}

TEST_CASE("if programs may be run from no folder, python3 of the node runs the copy from memory") {
  FakeSlurm slurm(1);
  slurm.options.send_to = {"/none", "/tmp"};
  slurm.write("sbcast", R"(#!/bin/sh
case "$*" in
*/none/*) echo 'sbcast: error: REQUEST_FILE_BCAST(n0): No such file or directory' >&2; exit 1;;
esac
)");
  slurm.write("all.sh", R"(case "$arguments" in
*/bin/rm*) echo "$arguments" >> $FAKE/removed; exit 0;;
esac
echo "0: slurmstepd: error: execve(): /shared/oddrank: No such file or directory" >&2
exit 2
)");
  constexpr const char* kForbidden = R"(program=${arguments##*--delete-self }
echo "0: slurmstepd: error: execve(): $program: Permission denied" >&2
echo "srun: error: n0: task 0: Exited with exit code 13" >&2
exit 13
)";
  SECTION("it does") {
    slurm.write("n0.sh", std::string(R"(case "$arguments" in
*"/usr/bin/env python3 "*" /tmp/oddrank-"*) cat $FAKE/n0.hello $FAKE/n0.frames; exit 0;;
esac
)") + kForbidden);
    const reach::GatherResult result = slurm.gather_ok();
    check_answers(result);
    CHECK(result.nodes[0].from_memory);
    REQUIRE(result.notes.size() == 1);
    CHECK(result.notes[0].ends_with(
        "into /tmp, and run from memory, because no folder lets programs run"));
  }
  SECTION("there is none") {
    slurm.write("n0.sh", std::string(R"(case "$arguments" in
*"/usr/bin/env python3 "*)
echo "0: /usr/bin/env: 'python3': No such file or directory" >&2
echo "srun: error: n0: task 0: Exited with exit code 127" >&2
exit 127;;
esac
)") + kForbidden);
    const reach::GatherResult result = slurm.gather_ok();
    CHECK(result.nodes[0].why.starts_with(
        "oddrank is not there, and no copy of it could be run: Exited with exit code 127 "
        "(/usr/bin/env: 'python3': No such file or directory)"));
    CHECK(result.nodes[0].copied_to.empty());
    REQUIRE_FALSE(result.notes.empty());
    CHECK(result.notes[0].find("n0: No such file or directory") != std::string::npos);
    // Both copies are removed: one was forbidden, of the other it is not known.
    CHECK(slurm.text("removed").find("/bin/rm -f -- /tmp/oddrank-") != std::string::npos);
  }
}

TEST_CASE("when all have answered, an srun that goes on gets SIGTERM") {
  FakeSlurm slurm(2);
  slurm.write("all.sh", "cat $FAKE/*.hello $FAKE/*.frames\nexec sleep 100\n");
  const reach::GatherResult result = slurm.gather_ok();
  check_answers(result);
  CHECK(result.took < milliseconds(20000));
  CHECK(slurm.all_gone());
}

TEST_CASE("nodes that an aborted step took with it are retried one by one") {
  FakeSlurm slurm(4);
  slurm.write("all.sh", R"(cat $FAKE/n0.hello $FAKE/n0.frames $FAKE/n2.hello
echo 'srun: error: Task launch for StepId=3.6 failed on node n1: Communication connection failure' >&2
echo 'srun: Job step aborted' >&2
echo 'srun: error: n2: task 2: Killed' >&2
exit 233
)");
  const reach::GatherResult result = slurm.gather_ok();
  check_answers(result, "n1");
  CHECK(result.nodes[1].why ==
        "SLURM could not start an agent there: Communication connection "
        "failure; SLURM says: down, not responding (power supply)");
  // n1 itself would only fail again.
  CHECK(slurm.calls().find("n1\n") == std::string::npos);
  CHECK(slurm.calls().find("n2\n") != std::string::npos);
  CHECK(slurm.calls().find("n3\n") != std::string::npos);
}

TEST_CASE("a silent node is retried alone while the others' step goes on") {
  FakeSlurm slurm(4);
  slurm.options.node_timeout = milliseconds(10000);
  slurm.write("all.sh", "cat $FAKE/n[023].hello $FAKE/n[023].frames\nexec sleep 100\n");
  check_answers(slurm.gather_ok());
  CHECK(slurm.calls() == "all\nn1\n");
  CHECK(slurm.all_gone());
}

TEST_CASE("a node that never answers costs the timeout, and no more") {
  FakeSlurm slurm(3);
  slurm.options.node_timeout = milliseconds(5000);
  slurm.options.slack = milliseconds(300);
  slurm.write("all.sh", "cat $FAKE/n[02].hello $FAKE/n[02].frames\nexec sleep 100\n");
  slurm.write("n1.sh", "exec sleep 100\n");
  const reach::GatherResult result = slurm.gather_ok();
  check_answers(result, "n1");
  CHECK(result.nodes[1].why ==
        "node did not answer in 5 s; SLURM says: down, not responding (power supply)");
  CHECK(result.took >= milliseconds(5300));
  CHECK(result.took < milliseconds(20000));
  CHECK(slurm.all_gone());
}

TEST_CASE("an agent that began and hangs differs from a node that does not answer") {
  FakeSlurm slurm(3);
  slurm.options.node_timeout = milliseconds(4500);
  slurm.options.slack = milliseconds(100);
  slurm.write("all.sh",
              "cat $FAKE/*.hello $FAKE/n[01].frames; head -n 2 $FAKE/n2.frames\n"
              "exec sleep 100\n");
  const reach::GatherResult cut = slurm.gather_ok();
  CHECK(cut.nodes[2].why == "its answer arrived incomplete: 2 of 9 pieces");
  slurm.write("all.sh", "cat $FAKE/*.hello $FAKE/n[01].frames\nexec sleep 100\n");
  const reach::GatherResult result = slurm.gather_ok();
  check_answers(result, "n2");
  CHECK(result.nodes[2].why == "its agent started but did not answer in 4.5 s");
  CHECK(slurm.calls() == "all\nall\n");
}

TEST_CASE("the newest draft of an agent that does not answer is kept") {
  FakeSlurm slurm(3);
  slurm.write("drafts", FakeSlurm::labelled(0, reach::encode_draft({"n0", 1}, "unused")) +
                            FakeSlurm::labelled(2, reach::encode_draft({"n2", 2}, "old")) +
                            FakeSlurm::labelled(2, reach::encode_draft({"n2", 2}, "new")));
  slurm.write("all.sh", R"(cat $FAKE/*.hello $FAKE/drafts $FAKE/n[01].frames
echo 'srun: error: n2: task 2: Exited with exit code 137' >&2
exit 137
)");
  const reach::GatherResult result = slurm.gather_ok();
  check_node(result.nodes[0], true);
  CHECK_FALSE(result.nodes[2].answered);
  CHECK(result.nodes[2].payload == "new");
  CHECK(result.nodes[2].why.find("Exited with exit code 137") != std::string::npos);
}

TEST_CASE("an agent that fails is not started again, and its words are passed on") {
  FakeSlurm slurm(2);
  slurm.write("all.sh", R"(cat $FAKE/n0.hello $FAKE/n0.frames
echo '1: slurmstepd-n1: error: execve(): /shared/oddrank: Exec format error' >&2
echo 'srun: error: n1: task 1: Exited with exit code 2' >&2
exit 2
)");
  const reach::GatherResult result = slurm.gather_ok();
  check_answers(result, "n1");
  CHECK(result.nodes[1].why.rfind("its agent ended without an answer: Exited with exit code 2 "
                                  "(execve(): /shared/oddrank: Exec format error)",
                                  0) == 0);
  CHECK(slurm.calls() == "all\n");
}

TEST_CASE("a step that SLURM refuses is one error, not one a node") {
  FakeSlurm slurm(4);
  slurm.write("all.sh",
              "echo 'srun: error: Unable to create step for job 3: Access/permission denied' >&2\n"
              "exit 1\n");
  const auto result = gather(slurm.job, slurm.options);
  REQUIRE_FALSE(result);
  CHECK(result.error().code == Errc::kPermission);
  CHECK(result.error().what ==
        "job 3: SLURM refuses to start agents in this job: permission denied");
  CHECK(slurm.calls() == "all\n");
}

TEST_CASE("an interrupt ends it soon, with the answers so far") {
  FakeSlurm slurm(2);
  slurm.write("all.sh", "cat $FAKE/*.hello $FAKE/n0.frames\nexec sleep 100\n");
  std::atomic<bool> interrupted{false};
  slurm.options.interrupted = &interrupted;
  slurm.options.progress = [&interrupted](const reach::GatherProgress& now) {
    CHECK((now.done == 0 || now.waiting_for == "n1 (reading)"));
    interrupted = now.done == 1;
  };
  const reach::GatherResult result = slurm.gather_ok();
  CHECK(result.interrupted);
  check_answers(result, "n1");
  CHECK(result.nodes[1].why == "interrupted while its agent was reading");
  CHECK(result.took < milliseconds(20000));
  CHECK(slurm.all_gone());
}

TEST_CASE("an srun that ignores SIGTERM does not delay us") {
  FakeSlurm slurm(1);
  slurm.options.node_timeout = milliseconds(300);
  slurm.options.slack = milliseconds(100);
  slurm.write("all.sh", "trap '' TERM\ncat $FAKE/n0.hello\nexec sleep 100\n");
  const reach::GatherResult result = slurm.gather_ok();
  check_answers(result, "n0");
  CHECK(result.took < milliseconds(20000));
}

TEST_CASE("a node cannot answer in the name of another one, though it is first") {
  FakeSlurm slurm(3);
  // n0 sends a whole answer as n1, and a hello; then n1 speaks for itself.
  slurm.write("forged", "0: " + reach::encode_hello({"n1", 9}) +
                            "0: " + reach::encode_frames({"n1", 9}, "lies"));
  slurm.write("all.sh", "cat $FAKE/forged $FAKE/*.hello $FAKE/n[012].frames\n");
  const reach::GatherResult result = slurm.gather_ok();
  check_answers(result);
  REQUIRE_FALSE(result.notes.empty());
  CHECK(result.notes.front() == "an answer of n0 was dropped: it claims to be from n1");
}

TEST_CASE("answers of another run do not count") {
  FakeSlurm slurm(2);
  slurm.options.run = "5eed";
  slurm.options.node_timeout = milliseconds(3000);
  slurm.options.slack = milliseconds(100);
  slurm.write("mine", "0: " + reach::encode_frames({"n0", 8, "5eed"}, FakeSlurm::payload("n0")));
  slurm.write("old", "1: " + reach::encode_frames({"n1", 9, "0ddba11"}, "of last week"));
  slurm.write("all.sh", "sed 's/^@/0: @/' $FAKE/mine; sed 's/^@/1: @/' $FAKE/old\n");
  slurm.write("n1.sh", "exit 1\n");
  const reach::GatherResult result = slurm.gather_ok();
  check_answers(result, "n1");
  REQUIRE_FALSE(result.notes.empty());
  CHECK(result.notes.front() == "an answer of n1 was dropped: it is of another run");
}

TEST_CASE("frames of a host outside the job are dropped, and a note says so") {
  FakeSlurm slurm(3);
  slurm.job.hosts.pop_back();
  slurm.write("all.sh",
              "cat $FAKE/n2.hello $FAKE/n2.frames; head -c 100000 /dev/urandom; echo\n"
              "cat $FAKE/n[01].frames\n");
  const reach::GatherResult result = slurm.gather_ok();
  check_answers(result);
  CHECK(result.nodes.size() == 2);
  CHECK(result.notes ==
        std::vector<std::string>{"an answer of task 2 was dropped: it claims to be from n2",
                                 "SLURM says of n1: down, not responding (power supply)"});
}

TEST_CASE("without srun, nodes or an absolute path nothing is tried") {
  FakeSlurm slurm(1);
  slurm.options.agent_path = "oddrank";
  CHECK(gather(slurm.job, slurm.options).error().code == Errc::kUsage);
  slurm.options.agent_path = "/oddrank";
  slurm.job.hosts.clear();
  CHECK(gather(slurm.job, slurm.options).error().code == Errc::kUsage);
  slurm.job.hosts = {"n0"};
  ::setenv("PATH", "/nonexistent", 1);
  const auto result = gather(slurm.job, slurm.options);
  REQUIRE_FALSE(result);
  CHECK(result.error().code == Errc::kNotFound);
  CHECK(result.error().what == "no SLURM here: srun is not on PATH");
}

}  // namespace
}  // namespace oddrank::slurm

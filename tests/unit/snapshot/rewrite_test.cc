#include "snapshot/rewrite.h"

#include <string>
#include <vector>

#include "snapshot/format/capture_file.h"
#include "tests/support/catch.h"

using namespace oddrank::snapshot;

namespace {

// A capture in which places, people and secrets stand in fields of every sort.
Capture telling_capture() {
  Capture capture;
  const auto string = [&](std::string_view text) { return capture.tables.string(text); };
  capture.job.id = "4711";
  capture.job.name = "ann-secret-plan";
  capture.job.user = "ann";
  capture.job.output_path = "/home/ann/runs/4711.out";
  capture.job.hosts = {"gpu07.cluster.example", "gpu08.cluster.example"};
  capture.job.notes = {"scontrol on gpu07 said: user ann"};
  NodeCapture node;
  node.host = "gpu07";
  node.answered = true;
  node.notes = {"cannot read /homes/bert/x: permission denied", "peer 10.9.8.7:29500 is gone"};
  capture.nodes.push_back(node);
  ProcessCapture process;
  process.is_rank = true;
  process.rank = 0;
  process.pid = process.owner = 71;
  process.job_key = string("gpu07:29500");
  process.command = string("python /scratch/ann/train.py --data /home/ann/data --lr 3");
  process.executable = string("/home/ann/env/bin/python3");
  process.environment.emplace_back(string("HOME"), string("/home/ann"));
  process.environment.emplace_back(string("MASTER_ADDR"), string("ann:kitten@gpu08"));
  process.connections.push_back({string("10.9.8.6:40000"), string("10.9.8.7:29500")});
  process.transfers.push_back({string("10.9.8.6:40000"), string("10.9.8.7:29500"), {}});
  ThreadCapture thread;
  thread.tid = 71;
  thread.wait.path = string("/home/ann/d.tar?token=kitten");
  thread.wait.rare.edit().peer = string("[fd00::77]:443");
  thread.wait.detail = string("waits for gpu08.cluster.example");
  Stack stack;
  Frame frame;
  frame.kind = FrameKind::kPython;
  frame.function = string("load_ann");
  frame.file = string("/home/ann/train.py");
  stack.frames = {capture.tables.frame(frame)};
  ThreadSample sample;
  sample.stack = capture.tables.stack(stack);
  thread.samples = {sample};
  thread.locals.push_back({0, {{string("patient"), string("'Frieda'")}}});
  PythonLoop loop;
  loop.calls.push_back({string("open"), string("/mnt/patients/Frieda")});
  thread.loops.push_back(loop);
  process.threads.push_back(thread);
  capture.processes.push_back(process);
  LogLine line;
  line.text = string("gpu07:71:80 [0] NCCL WARN connect to 10.9.8.7<29500> failed");
  line.source = string("/home/ann/runs/log");
  capture.collectives.log.push_back(line);
  return capture;
}

// Returns all texts of a capture; what the tables hold counts, even if nothing refers to it.
std::string all_texts(const Capture& capture) {
  std::string all;
  for (const std::string& text : capture.tables.strings()) {
    all += text + '\n';
  }
  const JobInfo& job = capture.job;
  for (const std::string& text : {job.id, job.name, job.user, job.state, job.output_path}) {
    all += text + '\n';
  }
  for (const auto* list : {&job.hosts, &job.notes, &capture.nodes.front().notes}) {
    for (const std::string& text : *list) {
      all += text + '\n';
    }
  }
  return all + capture.nodes.front().host + '\n' + capture.nodes.front().why;
}

}  // namespace

TEST_CASE("secrets do not leave a node, in whatever field they are") {
  const Capture capture = without_secrets(telling_capture());
  CHECK(all_texts(capture).find("kitten") == std::string::npos);
  const ProcessCapture& process = capture.processes.front();
  CHECK(capture.tables.text(process.environment[1].second) == "ann:***@gpu08");
  CHECK(capture.tables.text(process.threads.front().wait.path) == "/home/ann/d.tar?token=***");
  // Everything else stays.
  CHECK(capture.job == telling_capture().job);
  CHECK(capture.tables.text(process.threads.front().locals[0].locals[0].value) == "'Frieda'");
}

TEST_CASE("a redacted capture has no hosts, people, addresses, homes or locals") {
  const Capture capture = redacted(telling_capture());
  const std::string all = all_texts(capture);
  INFO(all);
  for (const char* name : {"gpu07", "gpu08", "cluster.example", "bert", "10.9.8", "fd00", "Frieda",
                           "patient", "secret-plan", "/ann", "ann:"}) {
    INFO(name);
    CHECK(all.find(name) == std::string::npos);
  }
  // One name has one replacement everywhere, so that a diagnosis still joins what belongs together.
  CHECK(capture.job.hosts == std::vector<std::string>{"host1", "host2"});
  CHECK(capture.nodes.front().host == "host1");
  const ProcessCapture& process = capture.processes.front();
  CHECK(capture.tables.text(process.job_key) == "host1:29500");
  CHECK(capture.tables.text(process.threads.front().wait.path) == "/home/user1/d.tar?token=kitten");
  CHECK(capture.tables.text(process.connections.front().peer) ==
        std::string(capture.nodes.front().notes[1]).substr(5, 16));
  CHECK(process.transfers.front().peer == process.connections.front().peer);
  const Frame& frame = capture.tables.frame(
      capture.tables.stack(process.threads.front().samples.front().stack).frames.front());
  CHECK(capture.tables.text(frame.function) == "load_ann");  // functions stay
  CHECK(capture.tables.text(frame.file) == "/home/user1/train.py");
  CHECK(process.threads.front().locals.empty());
  // It is a capture like any other.
  CHECK(decode_capture(encode_capture(capture)));
}

TEST_CASE("domains of e-mail addresses and telling names of interfaces are replaced") {
  Capture capture = telling_capture();
  capture.job.notes = {"mail jane.doe@lab.acme.org, memcpy@GLIBC_2.14 a@main git@forge.acme.org",
                       "veth-ann and ib0; jane.doe sent it from lab.acme.org"};
  capture.processes.front().environment.emplace_back(capture.tables.string("NCCL_SOCKET_IFNAME"),
                                                     capture.tables.string("=veth-ann,ib0"));
  const Capture changed = redacted(capture);
  const std::string all = all_texts(changed) + changed.job.notes[0] + changed.job.notes[1];
  for (const char* name : {"acme", "jane", "veth-ann"}) {
    INFO(all);
    CHECK(all.find(name) == std::string::npos);
  }
  CHECK(changed.job.notes[0].find("memcpy@GLIBC_2.14 a@main git@") != std::string::npos);
  CHECK(changed.job.notes[1].find("ib0") != std::string::npos);
}

TEST_CASE("the ids of people are numbered, those of the system's accounts are kept") {
  Capture capture = telling_capture();
  capture.job.notes = {"pids 12, 13 of user 50123, /slurm/uid_50123/job_7, user-4711.slice",
                       "a pipe of user 0, user 110; pid 50123 of uid 4711"};
  const Capture changed = redacted(capture);
  const auto number_in = [](const std::string& text, std::string_view before) {
    const auto at = text.find(before);
    return at == std::string::npos ? std::string("none") : text.substr(at + before.size(), 1);
  };
  const std::string& first = changed.job.notes[0];
  CHECK(number_in(first, "of user ").front() == number_in(first, "uid_").front());
  CHECK(first.find("4711") == std::string::npos);
  CHECK(number_in(first, "user-").front() == number_in(changed.job.notes[1], "uid ").front());
  CHECK(changed.job.notes[1].starts_with("a pipe of user 0, user 110; pid 50123 of uid "));
}

TEST_CASE("a name is replaced as a whole word only") {
  Capture capture = telling_capture();
  capture.job.notes = {"annotate gpu070 gpu07-ib0 xgpu07 gpu07", "/home/annette/x"};
  const Capture changed = redacted(capture);
  CHECK(changed.job.notes[0] == "annotate gpu070 gpu07-ib0 xgpu07 host1");
  CHECK(changed.job.notes[1].find("annette") == std::string::npos);
}

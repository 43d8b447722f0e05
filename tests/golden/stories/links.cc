// Jobs with a link between two ranks that does not carry, and jobs in which something is sent again
// and again and is not the reason.
#include "tests/golden/stories/frames.h"
#include "tests/golden/stories/story.h"

namespace oddrank::tests {

using aggregate::Kind;
using snapshot::CallKind;

namespace {

Frames train_step(std::uint32_t line) {
  return program_at("train.py", {{"step", line}, {"<module>", 104}});
}

CaptureBuilder reducing() {
  return job_of(4, 1, Backend::kGloo, in_gloo(world_call("all_reduce", 77), train_step(61)));
}

// --- link_stall ---

CaptureBuilder one_link() {
  CaptureBuilder job = reducing();
  lose(job, 1, 2, {.both = true});
  return job;
}

// What rank 3 receives is acknowledged, and the acknowledgements do not arrive.
CaptureBuilder one_direction() {
  CaptureBuilder job =
      job_of(4, 1, Backend::kGloo, in_gloo(world_call("barrier", 12), train_step(70)));
  lose(job, 3, 0, {.both = true, .counted = true, .got_by_first = 96});
  return job;
}

CaptureBuilder a_host_without_a_network() {
  CaptureBuilder job = reducing();
  lose(job, 0, 2, {.both = true});
  lose(job, 1, 2, {});
  lose(job, 2, 3, {.both = true});
  return job;
}

// Two ranks are done with #77 and wait for the two others, which are still in it.
CaptureBuilder some_have_gone_on() {
  CaptureBuilder job = reducing();
  replace_all(job, {0, 3}, in_gloo(world_call("all_reduce", 78), train_step(61)));
  lose(job, 1, 2, {.both = true});
  return job;
}

// Both sides of one transfer stand in it.
CaptureBuilder a_transfer() {
  CaptureBuilder job =
      job_of(2, 1, Backend::kGloo, in_gloo(transfer(CallKind::kRecv, 1), train_step(30)));
  replace_all(job, {1}, in_gloo(transfer(CallKind::kSend, 0), train_step(33)));
  lose(job, 1, 0, {});
  return job;
}

// Three tries in 1.4 s: a path that loses much may look so for a moment.
CaptureBuilder young() {
  CaptureBuilder job = reducing();
  lose(job, 1, 2, {.tries = 3, .age_ms = 1400});
  return job;
}

// Its agent cannot be started, and nobody knows who has its address.
CaptureBuilder a_host_that_is_down() {
  CaptureBuilder job = reducing();
  lose(job, 0, 2, {});
  lose(job, 1, 2, {});
  job.silence("gpu03", "SLURM could not start an agent there: Communication connection failure");
  return job;
}

// --- near misses ---

// The same with two hosts that gave no answer: the address may be of either.
CaptureBuilder two_hosts_unread() {
  CaptureBuilder job = a_host_that_is_down();
  job.silence("gpu04", "node did not answer in 20 s");
  return job;
}

// The link belongs to no call that anybody waits in.
CaptureBuilder a_link_nobody_needs() {
  CaptureBuilder job = reducing();
  replace_all(job, {2}, running(train_step(20), 0));
  replace_all(job, {3}, running(train_step(20), 0));
  lose(job, 2, 3, {.both = true});
  return job;
}

// The receiver's window is closed: the link carries, and its process does not read.
CaptureBuilder nobody_reads() {
  CaptureBuilder job = reducing();
  lose(job, 1, 2, {.trouble = snapshot::TransferTrouble::kNotTaken});
  return job;
}

CaptureBuilder they_move() {
  ThreadSpec spec = elsewhere_before(in_gloo(world_call("all_reduce", 77), train_step(61)),
                                     train_step(20) + module_end());
  CaptureBuilder job = job_of(4, 1, Backend::kGloo, spec);
  lose(job, 1, 2, {.tries = 2, .age_ms = 700});
  return job;
}

}  // namespace

std::vector<Story> stories_of_links() {
  return {
      {"one_link", "below-host.md: a wrong neighbour entry", Kind::kLinkStall, {}, one_link},
      {"one_direction", "a firewall that loses one direction", Kind::kLinkStall, {}, one_direction},
      {"a_host", "a host without a network", Kind::kLinkStall, {}, a_host_without_a_network},
      {"a_host_is_down", "a host that crashed", Kind::kLinkStall, {}, a_host_that_is_down},
      {"two_hosts", "", Kind::kUnknown, {}, two_hosts_unread, Kind::kLinkStall},
      {"some_have_gone_on", "", Kind::kLinkStall, {}, some_have_gone_on},
      {"a_transfer", "both sides of one transfer stand", Kind::kLinkStall, {}, a_transfer},
      {"young", "a path that loses much", Kind::kLinkStall, {}, young},
      {"nobody_needs", "", Kind::kSkippedCollective, {2, 3}, a_link_nobody_needs, Kind::kLinkStall},
      {"nobody_reads", "", Kind::kBelowHost, {}, nobody_reads, Kind::kLinkStall},
      {"they_move", "", Kind::kHealthy, {}, they_move, Kind::kLinkStall},
  };
}

}  // namespace oddrank::tests

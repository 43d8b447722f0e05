// Jobs with a link between two ranks that does not carry, and jobs in which something is sent again
// and again and is not the reason.
#include "tests/golden/stories/frames.h"
#include "tests/golden/stories/story.h"
#include "tests/support/collnet_network.h"
#include "tests/support/nccl_network.h"

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

// A gloo group is being made, and rank 1 cannot connect to rank 2. Each host has two ranks: which
// one is meant, the port shows at which it listens.
CaptureBuilder nobody_answers_a_connect() {
  ThreadSpec makes = in_store();
  makes.frames = Frames{in_libc("poll"), in_torch("gloo::rendezvous::Context::connectFullMesh")} +
                 train_step(8);
  CaptureBuilder job = job_of(2, 2, Backend::kGloo, makes);
  auto& tables = job.capture.tables;
  const auto at_host = [&](std::int32_t rank, std::string_view port) {
    return tables.string((rank < 2 ? "10.0.0.1:" : "10.0.0.2:") + std::string(port));
  };
  for (std::int32_t rank = 0; rank < 4; ++rank) {
    snapshot::AwaitedFile listening;
    listening.fd = 9;
    listening.state = snapshot::kTcpListens;
    listening.local = at_host(rank, "4000" + std::to_string(rank));
    snapshot::ProcessCapture& process = job.process(pid_of(rank));
    process.threads.front().wait.rare.edit().awaited.push_back(listening);
    process.connections.push_back({at_host(rank, "5000" + std::to_string(rank)),
                                   at_host(3 - rank, "5000" + std::to_string(3 - rank))});
  }
  snapshot::Transfer request;
  request.local = at_host(1, "43102");
  request.peer = at_host(2, "40002");
  request.connecting = true;
  request.tries = 6;
  request.age_ms = 25'000;
  job.process(pid_of(1)).transfers.push_back(request);
  return job;
}

// Three tries in 1.4 s: a path that loses much may look so for a moment.
CaptureBuilder young() {
  CaptureBuilder job = reducing();
  lose(job, 1, 2, {.tries = 3, .age_ms = 1400});
  return job;
}

// Each receives from its neighbour; the link between two of them is cut.
CaptureBuilder a_ring_of_transfers() {
  CaptureBuilder job =
      job_of(4, 1, Backend::kGloo, in_gloo(transfer(CallKind::kRecv, 3), train_step(30)));
  for (std::int32_t rank = 1; rank < 4; ++rank) {
    replace_all(job, {rank}, in_gloo(transfer(CallKind::kRecv, rank - 1), train_step(30)));
  }
  lose(job, 1, 2, {});
  return job;
}

// The same ring, and nothing is known of one rank.
CaptureBuilder a_ring_with_an_unread_rank() {
  CaptureBuilder job = a_ring_of_transfers();
  job.process(pid_of(1)).transfers.clear();
  job.silence("gpu03", "node did not answer in 20 s");
  return job;
}

// Its agent cannot be started, and it is not known which process has its address.
CaptureBuilder a_host_that_is_down() {
  CaptureBuilder job = reducing();
  lose(job, 0, 2, {});
  lose(job, 1, 2, {});
  job.silence("gpu03", "SLURM could not start an agent there: Communication connection failure");
  return job;
}

// Which of its two ranks is at the other end, is not known.
CaptureBuilder a_host_of_two_is_down() {
  CaptureBuilder job =
      job_of(3, 2, Backend::kGloo, in_gloo(world_call("all_reduce", 77), train_step(61)));
  lose(job, 0, 4, {});
  lose(job, 1, 5, {});
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

// The link belongs to no call that a rank waits in.
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

// NCCL's ring of four hosts; `per_host` GPUs on each.
CaptureBuilder reducing_over(const NetworkPlan& plan, void (*break_it)(NcclNetwork&)) {
  CaptureBuilder job = job_of(plan.hosts, plan.per_host, Backend::kNccl,
                              in_nccl_call(world_call("all_reduce", 412), train_step(61)));
  NcclNetwork network(plan, 7);
  network.run(160);
  break_it(network);
  while (network.run(1000)) {
  }
  network.describe(job);
  return job;
}

CaptureBuilder nccl_link() {
  return reducing_over({.hosts = 4}, [](NcclNetwork& network) { network.cut(1, 2); });
}

CaptureBuilder nccl_gpu() {
  return reducing_over({.hosts = 4, .sockets = true},
                       [](NcclNetwork& network) { network.stop_gpu(2); });
}

// The same, and the GPU of rank 2 differs from the others in what `describe` says of each.
CaptureBuilder with_gpus(void (*describe)(snapshot::Device&, bool odd)) {
  CaptureBuilder job = nccl_gpu();
  add_gpus(job, 4, 1, [&](snapshot::Device& gpu, std::int32_t rank) { describe(gpu, rank == 2); });
  return job;
}

// No kernel runs on it, while those of the others spin.
CaptureBuilder nccl_idle_gpu() {
  return with_gpus([](snapshot::Device& gpu, bool odd) {
    gpu.utilization = odd ? 0 : 100;
    gpu.power_mw = odd ? 71'000 : 124'000;
  });
}

// It has lost lanes of its link to the host.
CaptureBuilder nccl_narrow_gpu() {
  return with_gpus([](snapshot::Device& gpu, bool odd) { gpu.pcie_width = odd ? 4 : 16; });
}

// It is slowed down (HW slowdown and HW thermal slowdown); the others meet their power limit.
CaptureBuilder nccl_hot_gpu() {
  return with_gpus([](snapshot::Device& gpu, bool odd) { gpu.clock_reasons = odd ? 0x48 : 0x4; });
}

// The driver says that it has failed; another one's program was ended.
CaptureBuilder nccl_failed_gpu() {
  CaptureBuilder job = with_gpus([](snapshot::Device& gpu, bool odd) {
    gpu.xid = odd ? 79 : 0;
    gpu.xid_ago_s = odd ? 41 : -1;
  });
  snapshot::Device& ended = job.capture.collectives.devices.front();
  ended.xid = 45;
  ended.xid_ago_s = 40;
  return job;
}

// Only its NVLinks have counted errors, some of them meanwhile.
CaptureBuilder nccl_nvlink_gpu() {
  return with_gpus([](snapshot::Device& gpu, bool odd) {
    gpu.nvlink_errors = odd ? 2353 : 0;
    gpu.nvlink_errors_later = odd ? 2400 : -1;
  });
}

CaptureBuilder nccl_port() {
  CaptureBuilder job = nccl_link();
  for (std::int32_t rank = 0; rank < 4; ++rank) {
    snapshot::LinkPort port;
    port.node = job.process(pid_of(rank)).node;
    port.device = job.capture.tables.string("mlx5_0");
    port.port = 1;
    port.state = job.capture.tables.string("ACTIVE");
    port.physical = job.capture.tables.string("LinkUp");
    port.errors = rank == 2 ? 5120 : 0;
    job.capture.collectives.ports.push_back(port);
  }
  return job;
}

// Errors that come while the data stands say more than those of weeks ago.
CaptureBuilder nccl_port_errs_now() {
  CaptureBuilder job = nccl_port();
  for (auto& port : job.capture.collectives.ports) {
    port.errors_later = port.errors + (port.errors > 0 ? 3 : 0);
  }
  return job;
}

// The connection is another library's: NCCL sends by its adapters.
CaptureBuilder nccl_beside_tcp() {
  CaptureBuilder job =
      reducing_over({.hosts = 4}, [](NcclNetwork& network) { network.stop_gpu(2); });
  lose(job, 1, 3, {.both = true});
  return job;
}

CaptureBuilder nccl_gpu_of_a_host() {
  return reducing_over({.hosts = 4, .per_host = 2, .sockets = true},
                       [](NcclNetwork& network) { network.stop_gpu(4); });
}

// The proxies of the last GPU of each host send for the other one, too (PXN).
CaptureBuilder nccl_link_by_pxn() {
  return reducing_over({.hosts = 4, .per_host = 2, .pxn = true},
                       [](NcclNetwork& network) { network.cut(1, 2); });
}

// Blocks of a tree go up to its root and down again.
CaptureBuilder nccl_link_of_a_tree() {
  return reducing_over({.scheme = Scheme::kTree, .hosts = 4, .sockets = true},
                       [](NcclNetwork& network) { network.cut(3, 1); });
}

// Each rank sends to all others.
CaptureBuilder nccl_link_of_sends() {
  return reducing_over({.scheme = Scheme::kSends, .hosts = 4},
                       [](NcclNetwork& network) { network.cut(1, 2); });
}

// Which of the host's two GPUs it is, the driver's report of a failure shows.
CaptureBuilder nccl_failed_gpu_of_a_host() {
  CaptureBuilder job = nccl_gpu_of_a_host();
  add_failed_gpu(job, 8, 2, 4, 95, 75);
  return job;
}

// All ranks of one host are in the call, and NCCL's data has no proxies; one GPU has failed.
CaptureBuilder failed_gpu_alone() {
  CaptureBuilder job =
      job_of(1, 4, Backend::kNccl, in_nccl_call(world_call("all_reduce", 412), train_step(61)));
  add_failed_gpu(job, 4, 4, 3, 74, 300);
  return job;
}

// The first GPU of a chain gives nothing, or the permission to send has been lost.
CaptureBuilder nccl_permission() {
  return reducing_over({.scheme = Scheme::kChain, .hosts = 4},
                       [](NcclNetwork& network) { network.stop_gpu(0); });
}

CaptureBuilder nccl_moves() {
  CaptureBuilder job = nccl_link();
  for (auto& process : job.capture.processes) {
    for (auto& row : process.proxies) {
      row.still = 0;
    }
  }
  return job;
}

// NCCL's data are added up by the network of four hosts (CollNet).
CaptureBuilder reducing_in(const CollnetPlan& plan, void (*break_it)(CollnetNetwork&)) {
  CaptureBuilder job = job_of(plan.hosts, plan.per_host, Backend::kNccl,
                              in_nccl_call(world_call("all_reduce", 412), train_step(61)));
  CollnetNetwork network(plan, 7);
  network.run(160);
  break_it(network);
  while (network.run(1000)) {
  }
  network.describe(job);
  return job;
}

CaptureBuilder collnet_gpu() {
  return reducing_in({.hosts = 4, .per_host = 1, .rails = 1},
                     [](CollnetNetwork& network) { network.stop_gpu(2); });
}

CaptureBuilder collnet_gpu_of_a_host() {
  return reducing_in({.hosts = 4}, [](CollnetNetwork& network) { network.stop_gpu(5); });
}

// All heads have given their part, and none gets the sum.
CaptureBuilder collnet_network() {
  return reducing_in({.hosts = 4}, [](CollnetNetwork& network) { network.stop_rail(1); });
}

// All others get it.
CaptureBuilder collnet_one_without_result() {
  return reducing_in({.hosts = 4}, [](CollnetNetwork& network) { network.cut(2, 1); });
}

CaptureBuilder collnet_takes_nothing() {
  return reducing_in({.hosts = 4}, [](CollnetNetwork& network) { network.refuse(2, 1); });
}

ThreadSpec at_device() {
  ThreadSpec spec =
      running(Frames{native("cudaStreamSynchronize", "libcudart.so.12")} + train_step(20), 500'000);
  spec.wait.on = snapshot::WaitOn::kDevice;
  spec.wait.path = "/dev/nvidia0";
  return spec;
}

// Rank 2 has launched the call, and waits for its device.
CaptureBuilder nccl_launched() {
  CaptureBuilder job = nccl_link();
  replace_all(job, {2}, at_device());
  return job;
}

// Asynchronous collectives: no frame shows for what the ranks wait.
CaptureBuilder nccl_at_devices() {
  CaptureBuilder job = nccl_link();
  replace_all(job, {0, 1, 2, 3}, at_device());
  return job;
}

}  // namespace

std::vector<Story> stories_of_links() {
  return {
      {"nccl_link", "NVIDIA/nccl#1063", Kind::kLinkStall, {}, nccl_link},
      {"nccl_link_by_pxn", "", Kind::kLinkStall, {}, nccl_link_by_pxn},
      {"nccl_link_of_a_tree", "", Kind::kLinkStall, {}, nccl_link_of_a_tree},
      {"nccl_link_of_sends", "", Kind::kLinkStall, {}, nccl_link_of_sends},
      {"nccl_gpu", "marin#7344", Kind::kDeviceStall, {2}, nccl_gpu},
      {"nccl_idle_gpu", "", Kind::kDeviceStall, {2}, nccl_idle_gpu},
      {"nccl_narrow_gpu", "", Kind::kDeviceStall, {2}, nccl_narrow_gpu},
      {"nccl_hot_gpu", "", Kind::kDeviceStall, {2}, nccl_hot_gpu},
      {"nccl_failed_gpu", "NVIDIA/nccl#1063", Kind::kDeviceStall, {2}, nccl_failed_gpu},
      {"nccl_nvlink_gpu", "", Kind::kDeviceStall, {2}, nccl_nvlink_gpu},
      {"nccl_failed_of_host", "", Kind::kDeviceStall, {4}, nccl_failed_gpu_of_a_host},
      {"failed_gpu_alone", "", Kind::kBelowHost, {}, failed_gpu_alone},
      {"nccl_port", "", Kind::kLinkStall, {}, nccl_port},
      {"nccl_port_errs_now", "", Kind::kLinkStall, {}, nccl_port_errs_now},
      {"nccl_beside_tcp", "", Kind::kBelowHost, {}, nccl_beside_tcp, Kind::kLinkStall},
      {"nccl_gpu_of_a_host", "", Kind::kBelowHost, {}, nccl_gpu_of_a_host},
      {"nccl_permission", "", Kind::kBelowHost, {}, nccl_permission, Kind::kLinkStall},
      {"nccl_moves", "", Kind::kBelowHost, {}, nccl_moves, Kind::kLinkStall},
      {"collnet_gpu", "", Kind::kDeviceStall, {2}, collnet_gpu},
      {"collnet_gpu_of_a_host", "", Kind::kBelowHost, {}, collnet_gpu_of_a_host},
      {"collnet_network", "", Kind::kBelowHost, {}, collnet_network, Kind::kLinkStall},
      {"collnet_without_result", "", Kind::kBelowHost, {}, collnet_one_without_result},
      {"collnet_takes_nothing", "", Kind::kBelowHost, {}, collnet_takes_nothing},
      {"nccl_launched", "", Kind::kLinkStall, {}, nccl_launched},
      {"nccl_at_devices", "", Kind::kLinkStall, {}, nccl_at_devices},
      {"one_link", "below-host.md: a wrong neighbour entry", Kind::kLinkStall, {}, one_link},
      {"one_direction", "a firewall that loses one direction", Kind::kLinkStall, {}, one_direction},
      {"a_host", "a host without a network", Kind::kLinkStall, {}, a_host_without_a_network},
      {"a_host_is_down", "a host that crashed", Kind::kLinkStall, {}, a_host_that_is_down},
      {"a_host_of_two", "", Kind::kLinkStall, {}, a_host_of_two_is_down},
      {"two_hosts", "", Kind::kUnknown, {}, two_hosts_unread, Kind::kLinkStall},
      {"some_have_gone_on", "", Kind::kLinkStall, {}, some_have_gone_on},
      {"nobody_answers_a_connect", "", Kind::kLinkStall, {}, nobody_answers_a_connect},
      {"a_transfer", "both sides of one transfer stand", Kind::kLinkStall, {}, a_transfer},
      {"a_ring_of_transfers", "", Kind::kLinkStall, {}, a_ring_of_transfers},
      {"unread_in_ring", "", Kind::kUnknown, {}, a_ring_with_an_unread_rank, Kind::kLinkStall},
      {"young", "a path that loses much", Kind::kLinkStall, {}, young},
      {"nobody_needs", "", Kind::kSkippedCollective, {2, 3}, a_link_nobody_needs, Kind::kLinkStall},
      {"nobody_reads", "", Kind::kBelowHost, {}, nobody_reads, Kind::kLinkStall},
      {"they_move", "", Kind::kHealthy, {}, they_move, Kind::kLinkStall},
  };
}

}  // namespace oddrank::tests

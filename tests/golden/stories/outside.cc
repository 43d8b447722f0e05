// Ranks that wait for a process outside the job, or for their device.
#include "tests/golden/stories/frames.h"
#include "tests/golden/stories/story.h"

namespace oddrank::tests {

using aggregate::Kind;
using snapshot::WaitOn;

namespace {

Frames go(std::uint32_t line) {
  return program_at("sd/train.py", {{"go", line}, {"main", 205}, {"<module>", 212}});
}

CaptureBuilder nccl_job() {
  return job_of(2, 4, Backend::kNccl, in_nccl_call(world_call("all_reduce"), go(88)));
}

Frames tls_read() {
  return {in_libc("__libc_recv"), std_py("ssl.py", "SSLSocket.read", 1166),
          std_py("socket.py", "SocketIO.readinto", 706)};
}

// --- external_wait ---

CaptureBuilder telemetry_at_the_end() {
  CaptureBuilder job = job_of(2, 4, Backend::kNccl, in_nccl_call(world_call("barrier"), go(120)));
  ThreadSpec waits =
      blocked(WaitOn::kSocket, "recvfrom",
              Frames{in_libc("__libc_recv"), std_py("socket.py", "SocketIO.readinto", 706),
                     pkg_py("wandb/sdk/lib/sock_client.py", "SockClient._read_packet_bytes", 235),
                     pkg_py("wandb/sdk/wandb_run.py", "Run.finish", 2085)} +
                  go(118));
  waits.wait.path = "socket:[55100]";
  replace(job, 0, waits);
  return job;
}

// Six hours on an established connection on which nothing arrives.
CaptureBuilder object_store() {
  CaptureBuilder job = nccl_job();
  replace(job, 5,
          blocked(WaitOn::kSocket, "recvfrom",
                  tls_read() +
                      Frames{std_py("http/client.py", "HTTPResponse.begin", 318),
                             pkg_py("urllib3/connectionpool.py", "HTTPConnectionPool._make_request",
                                    537),
                             pkg_py("botocore/httpsession.py", "URLLib3Session.send", 464),
                             pkg_py("s3fs/core.py", "S3FileSystem._cat_file", 1128)} +
                      go(71)));
  set_peer(job, 5, "10.4.0.6:51544", "52.216.8.91:443",
           {.received_s = 21870, .sent_s = 21871, .tls = true});
  return job;
}

// A licence server that no library of the table uses: no rank of the job has its address.
CaptureBuilder licence_server() {
  CaptureBuilder job = nccl_job();
  replace(
      job, 2,
      blocked(WaitOn::kSocket, "recvfrom",
              Frames{in_libc("__libc_recv"), native("lc_checkout", "/opt/vendor/lib/liblmgr.so"),
                     user_py("sd/codec.py", "open_codec", 16)} +
                  go(44)));
  set_peer(job, 2, "10.4.0.2:40112", "10.4.9.9:27000", {.received_s = 402, .sent_s = 402});
  return job;
}

// The other end is another rank of the job, which is busy with something else.
CaptureBuilder the_peer_is_a_rank() {
  CaptureBuilder job = nccl_job();
  const Frames recv = {in_libc("__libc_recv"), user_py("sd/exchange.py", "Peer.receive", 52)};
  replace(job, 2, blocked(WaitOn::kSocket, "recvfrom", recv + go(44)));
  set_peer(job, 2, "10.4.0.2:40112", "10.4.0.6:7000", {.received_s = 402});
  replace(job, 6, at_loader(0, go(40)));
  auto& tables = job.capture.tables;
  job.process(pid_of(6)).connections.push_back(
      {tables.string("10.4.0.6:7000"), tables.string("10.4.0.2:40112")});
  return job;
}

// A rank that was not read may have the other end.
CaptureBuilder the_peer_may_be_unread() {
  CaptureBuilder job = licence_server();
  job.silence("gpu02", "node did not answer in 20 s");
  return job;
}

// --- device_stall ---

ThreadSpec on_device(std::string_view path, Frames frames) {
  ThreadSpec spec = running(std::move(frames), 500'000);
  spec.wait.on = WaitOn::kDevice;
  spec.wait.path = path;
  return spec;
}

// Its kernel never ends: no Xid, no error, a GPU that is silently frozen.
CaptureBuilder frozen_gpu() {
  CaptureBuilder job = nccl_job();
  replace(job, 4,
          on_device("/dev/nvidia0",
                    stream_wait() + Frames{pkg_py("torch/cuda/__init__.py", "synchronize", 892)} +
                        go(80)));
  return job;
}

// The same on an AMD GPU, for which other tools are named.
CaptureBuilder frozen_amd_gpu() {
  CaptureBuilder job = nccl_job();
  replace(job, 4,
          on_device("/dev/kfd", Frames{native("hsa_signal_wait_scacquire", "libhsa-runtime64.so.1"),
                                       native("hipStreamSynchronize", "libamdhip64.so.6"),
                                       pkg_py("torch/cuda/__init__.py", "synchronize", 892)} +
                                    go(80)));
  return job;
}

// Its driver says that it has failed, long after the job began.
CaptureBuilder failed_gpu() {
  CaptureBuilder job = frozen_gpu();
  add_failed_gpu(job, 8, 4, 4, 119, 35);
  return job;
}

// Lazy loading: the first launch of a kernel loads its module, and waits for a kernel of NCCL's.
CaptureBuilder lazy_module_load() {
  CaptureBuilder job = nccl_job();
  replace(job, 1,
          on_device("/dev/nvidiactl",
                    Frames{in_libc("ioctl"), in_driver(""), in_driver("cuLibraryLoadData"),
                           in_cudart("cudaLaunchKernel"),
                           pkg_py("torch/nn/functional.py", "scaled_dot_product_attention", 5109)} +
                        go(66)));
  return job;
}

CaptureBuilder pinned_memory_is_freed() {
  CaptureBuilder job =
      job_of(4, 8, Backend::kNccl, in_nccl_call(world_call("all_reduce", 12), go(88)));
  ThreadSpec frees =
      on_device("/dev/nvidia3",
                Frames{in_libc("ioctl"), in_driver("cuMemFreeHost"), in_cudart("cudaFreeHost"),
                       pkg_py("torch/cuda/memory.py", "empty_cache", 162)} +
                    go(91));
  frees.state = 'S';
  frees.cpu_step_us = 0;
  replace(job, 27, frees);
  return job;
}

}  // namespace

std::vector<Story> stories_of_outside() {
  return {
      {"telemetry_at_the_end",
       "hangs.md B6, wandb#3223: finish()",
       Kind::kExternalWait,
       {0},
       telemetry_at_the_end},
      {"object_store",
       "B7, mowl#149: six hours in a TLS read",
       Kind::kExternalWait,
       {5},
       object_store},
      {"licence_server", "an address that no rank has", Kind::kExternalWait, {2}, licence_server},
      {"the_peer_is_a_rank",
       "the other end is a rank's",
       Kind::kInputStall,
       {6},
       the_peer_is_a_rank,
       Kind::kExternalWait},
      {"the_peer_may_be_unread",
       "the other end may be on a node that was not read",
       Kind::kUnknown,
       {},
       the_peer_may_be_unread,
       Kind::kExternalWait},
      {"frozen_gpu",
       "hangs.md F4, nccl#1063: nothing in any log",
       Kind::kDeviceStall,
       {4},
       frozen_gpu},
      {"frozen_amd_gpu", "", Kind::kDeviceStall, {4}, frozen_amd_gpu},
      {"failed_gpu", "", Kind::kDeviceStall, {4}, failed_gpu},
      {"lazy_module_load", "F1, torchcomms#2334", Kind::kDeviceStall, {1}, lazy_module_load},
      {"pinned_memory_is_freed",
       "F1, nccl#48: cudaFreeHost",
       Kind::kDeviceStall,
       {27},
       pinned_memory_is_freed},
  };
}

}  // namespace oddrank::tests

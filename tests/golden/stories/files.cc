// Ranks that wait for a file system, or for a lock on a file.
#include "tests/golden/stories/frames.h"
#include "tests/golden/stories/story.h"

namespace oddrank::tests {

using aggregate::Kind;
using snapshot::Known;
using snapshot::WaitOn;

namespace {

Frames work(std::uint32_t line) {
  return program_at("asr/train.py", {{"work", line}, {"main", 140}, {"<module>", 151}});
}

CaptureBuilder job_with_files() {
  return job_of(4, 2, Backend::kGloo, in_ddp_backward(work(96)));
}

ThreadSpec in_state_d(std::string_view syscall,
                      std::string_view path,
                      std::string_view wchan,
                      Frames frames) {
  ThreadSpec spec = blocked(WaitOn::kFile, syscall, std::move(frames));
  spec.state = 'D';
  spec.wait.path = path;
  spec.wait.wchan = wchan;
  return spec;
}

// --- io_stall ---

// Four ranks of one node: one truncates, and three wait for the inode behind it.
CaptureBuilder nfs_truncate() {
  CaptureBuilder job = job_of(4, 8, Backend::kNccl, in_nccl_call(world_call("barrier"), work(60)));
  const std::string_view path = "/shared/hf/modules/datasets_modules/squad.py";
  const Frames opens = Frames{in_libc("__open64"), in_interpreter("_io_open_impl"),
                              std_py("shutil.py", "copyfile", 258)} +
                       work(31);
  replace_all(job, {17, 18, 19}, in_state_d("read", path, "nfs_start_io_read", opens));
  replace(job, 16, in_state_d("ftruncate", path, "nfs_setattr", opens));
  return job;
}

// Its memory cannot be read: only facts from /proc, read before the reader gave up, are known.
CaptureBuilder fuse_server_is_gone() {
  CaptureBuilder job = job_with_files();
  auto& process = job.process(pid_of(3));
  process.threads.clear();
  process.read = snapshot::ReadState::kPartial;
  process.state = 'D';
  process.why = job.capture.tables.string("did not answer in 20 s: state D in request_wait_answer");
  return job;
}

CaptureBuilder lustre_metadata() {
  CaptureBuilder job = job_with_files();
  replace(job, 6,
          in_state_d("statx", "/lustre/asr/manifests", "ldlm_completion_ast",
                     Frames{in_libc("statx"), in_interpreter("os_stat"),
                            std_py("pathlib.py", "Path.exists", 862)} +
                         work(22)));
  return job;
}

// State S, and yet in a read that does not return: a FUSE file system with interruptible waits.
CaptureBuilder read_that_does_not_return() {
  CaptureBuilder job = job_with_files();
  ThreadSpec reads =
      in_state_d("read", "/mnt/s3/asr/train-00017.parquet", "request_wait_answer",
                 Frames{in_libc("__GI___read"), in_interpreter("_Py_read"),
                        pkg_py("pyarrow/parquet/core.py", "ParquetFile.read_row_group", 467)} +
                     work(35));
  reads.state = 'S';
  replace(job, 1, reads);
  return job;
}

// In one sample of two: any access to a disk looks like this.
CaptureBuilder d_for_a_moment() {
  CaptureBuilder job = job_with_files();
  ThreadSpec reads = in_state_d("read", "/data/asr/7.flac", "folio_wait_bit_common",
                                Frames{in_libc("__GI___read")} + work(35));
  reads.earlier = Frames{pkg_py("soundfile.py", "SoundFile.read", 895)} + work(35);
  replace(job, 6, reads);
  job.process(pid_of(6)).threads[0].samples.edit(0).state = 'R';
  return job;
}

// --- file_lock ---

Frames builds_extension() {
  return python_sleep() +
         Frames{pkg_py("torch/utils/file_baton.py", "FileBaton.wait", 45),
                pkg_py("torch/utils/cpp_extension.py", "_jit_compile", 1714),
                pkg_py("torch/utils/cpp_extension.py", "load", 1308)} +
         work(12);
}

// The builder was killed a week ago; its lock file is still there, and all ranks poll for it.
CaptureBuilder stale_build_lock() {
  ThreadSpec polls = blocked(WaitOn::kFileLock, "clock_nanosleep", builds_extension());
  polls.wait.path = "/home/ada/.cache/torch_extensions/fused_adam/lock";
  polls.wait.holder_alive = Known::kNo;
  polls.wait.how = snapshot::WaitHow::kLockFile;
  polls.wait.inferred = true;
  return job_of(1, 4, Backend::kGloo, polls);
}

// flock(): the kernel's table names the holder, which is another rank of the node.
CaptureBuilder held_by_a_rank() {
  CaptureBuilder job = job_of(1, 4, Backend::kGloo, in_gloo(world_call("barrier"), work(60)));
  ThreadSpec waits = blocked(WaitOn::kFileLock, "flock",
                             Frames{in_libc("__GI___flock"), in_interpreter("fcntl_flock"),
                                    pkg_py("filelock/_unix.py", "UnixFileLock._acquire", 40),
                                    pkg_py("datasets/load.py", "load_dataset", 2556)} +
                                 work(14));
  waits.wait.path = "/home/ada/.cache/huggingface/datasets/squad.lock";
  waits.wait.wchan = "locks_lock_inode_wait";
  waits.wait.holder_pid = pid_of(2);
  waits.wait.holder_alive = Known::kYes;
  replace(job, 1, waits);
  replace(job, 2, blocked(WaitOn::kUnknown, "clock_nanosleep", python_sleep() + work(16)));
  return job;
}

// The holder is no rank of this job: only the rank that waits for it can be named.
CaptureBuilder held_by_somebody_else() {
  CaptureBuilder job = job_with_files();
  ThreadSpec waits = blocked(WaitOn::kFileLock, "fcntl",
                             Frames{in_libc("__GI___fcntl"), in_interpreter("fcntl_lockf"),
                                    user_py("asr/cache.py", "claim", 27)} +
                                 work(30));
  waits.wait.path = "/scratch/asr/cache.db";
  waits.wait.holder_pid = 61'022;
  waits.wait.holder_alive = Known::kYes;
  replace(job, 5, waits);
  return job;
}

// The one that has the lock compiles: the others have to wait, and it is not stuck.
CaptureBuilder the_holder_compiles() {
  ThreadSpec polls = blocked(WaitOn::kFileLock, "clock_nanosleep", builds_extension());
  polls.wait.path = "/home/ada/.cache/torch_extensions/fused_adam/lock";
  polls.wait.holder_pid = pid_of(0);
  polls.wait.holder_alive = Known::kYes;
  polls.wait.inferred = true;
  CaptureBuilder job = job_of(1, 4, Backend::kGloo, polls);
  replace(job, 0,
          running(Frames{pkg_py("torch/utils/cpp_extension.py", "_run_ninja_build", 2106),
                         pkg_py("torch/utils/cpp_extension.py", "load", 1308)} +
                      work(12),
                  2'400'000));
  return job;
}

}  // namespace

std::vector<Story> stories_of_files() {
  return {
      {"checkpoint_on_nfs", "a checkpoint on NFS, state D", Kind::kIoStall, {6}, io_stall_job},
      {"nfs_truncate",
       "hangs.md C1, NeMo-RL#3504: four ranks of one node",
       Kind::kIoStall,
       {16, 17, 18, 19},
       nfs_truncate},
      {"fuse_server_is_gone",
       "C1: the reader had to give up",
       Kind::kIoStall,
       {3},
       fuse_server_is_gone},
      {"lustre_metadata", "C1: a metadata server", Kind::kIoStall, {6}, lustre_metadata},
      {"read_that_does_not_return",
       "C1 with an interruptible wait",
       Kind::kIoStall,
       {1},
       read_that_does_not_return},
      {"d_for_a_moment",
       "D in one look is any disk access; possible, no more",
       Kind::kIoStall,
       {6},
       d_for_a_moment},
      {"stale_build_lock",
       "hangs.md C2: the builder was killed",
       Kind::kFileLock,
       {0, 1, 2, 3},
       stale_build_lock},
      {"held_by_a_rank", "C3: flock, the holder is a rank", Kind::kFileLock, {2}, held_by_a_rank},
      {"held_by_somebody_else",
       "C3: the holder is no rank",
       Kind::kFileLock,
       {5},
       held_by_somebody_else},
      {"the_holder_compiles",
       "C2: a build that goes on",
       Kind::kBusyRank,
       {0},
       the_holder_compiles,
       Kind::kFileLock},
  };
}

}  // namespace oddrank::tests

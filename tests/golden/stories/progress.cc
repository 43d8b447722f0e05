// Jobs that move, jobs that are slow, and ranks that compute while the others wait for them.
#include "tests/golden/stories/frames.h"
#include "tests/golden/stories/story.h"

namespace oddrank::tests {

using aggregate::Kind;
using snapshot::WaitOn;

namespace {

Frames step(std::uint32_t line) {
  return program_at("llama/pretrain.py", {{"train_step", line}, {"train", 210}, {"<module>", 305}});
}

// Returns a thread in a collective that is over by the next sample.
ThreadSpec passing_all_reduce(std::uint32_t before, std::uint32_t now) {
  ThreadSpec spec = in_gloo(world_call("all_reduce"), step(now));
  spec.earlier = in_gloo(world_call("all_reduce"), step(before)).frames;
  spec.cpu_step_us = 60'000;
  spec.switch_step = 80;
  return spec;
}

// --- healthy ---

CaptureBuilder compile_phase() {
  const Frames inductor = {pkg_py("torch/_inductor/graph.py", "GraphLowering.call_function", 1021),
                           pkg_py("torch/_inductor/compile_fx.py", "fx_codegen_and_compile", 708)};
  const Frames dynamo = {pkg_py("torch/fx/interpreter.py", "Interpreter.run", 146),
                         pkg_py("torch/_dynamo/convert_frame.py", "_compile", 524)};
  return job_of(2, 4, Backend::kNccl,
                elsewhere_before(running(inductor + step(88), 480'000), dynamo + step(88)));
}

// A write is a system call that sleeps in state D for a moment; all ranks make progress.
CaptureBuilder checkpoint_of_all_ranks() {
  ThreadSpec write = blocked(
      WaitOn::kFile, "write",
      Frames{in_libc("__GI___write"), in_interpreter("_Py_write"),
             pkg_py("torch/serialization.py", "_save", 860),
             pkg_py("torch/distributed/checkpoint/filesystem.py", "_write_files_from_queue", 299)} +
          step(140));
  write.wait.path = "/mnt/ckpt/step-4000/__3_0.distcp";
  write.wait.wchan = "folio_wait_bit_common";
  write.state = 'D';
  const Frames pickling = {pkg_py("torch/serialization.py", "persistent_id", 812),
                           pkg_py("torch/serialization.py", "_save", 842)};
  CaptureBuilder job = job_of(2, 4, Backend::kNccl, elsewhere_before(write, pickling + step(140)));
  replace_all(job, {1, 4, 6}, elsewhere_before(running(pickling + step(140), 450'000), step(139)));
  return job;
}

// One forward, one backward: in each sample other stages of the pipeline wait for their neighbours.
CaptureBuilder pipeline_at_work() {
  const Frames forward = {
      pkg_py("megatron/core/pipeline_parallel/schedules.py", "forward_step", 271)};
  const Frames schedule = {pkg_py("megatron/core/pipeline_parallel/schedules.py",
                                  "forward_backward_pipelining_without_interleaving", 1386)};
  CaptureBuilder job = job_of(
      2, 4, Backend::kNccl,
      elsewhere_before(running(forward + schedule + step(60), 430'000), schedule + step(60)));
  for (const std::int32_t rank : {2, 3, 7}) {
    ThreadSpec receive =
        in_nccl_call(transfer(snapshot::CallKind::kRecv, rank - 1), schedule + step(60));
    replace(job, rank, elsewhere_before(receive, forward + schedule + step(60)));
  }
  return job;
}

// --- slow ---

CaptureBuilder hot_device() {
  CaptureBuilder job = job_of(2, 4, Backend::kGloo, passing_all_reduce(91, 94), 3);
  replace(job, 3, elsewhere_before(running(step(72), 480'000), step(71)));
  return job;
}

// No workers: it decodes its images itself, with one thread that shares its core with others.
CaptureBuilder decodes_by_itself() {
  const Frames loader = {
      pkg_py("torch/utils/data/_utils/fetch.py", "_MapDatasetFetcher.fetch", 51),
      pkg_py("torch/utils/data/dataloader.py", "_SingleProcessDataLoaderIter._next_data", 673)};
  const Frames decode = {pkg_py("PIL/ImageFile.py", "ImageFile.load", 293)};
  const Frames resize = {pkg_py("torchvision/transforms/functional.py", "resize", 468)};
  CaptureBuilder job = job_of(1, 8, Backend::kGloo, passing_all_reduce(91, 97), 4);
  replace(
      job, 6,
      elsewhere_before(running(decode + loader + step(58), 350'000), resize + loader + step(58)));
  return job;
}

CaptureBuilder oversubscribed_optimizer() {
  const Frames adam = {pkg_py("torch/optim/adamw.py", "_single_tensor_adamw", 377),
                       pkg_py("torch/optim/adamw.py", "AdamW.step", 184)};
  const Frames later = {pkg_py("torch/optim/adamw.py", "_single_tensor_adamw", 401),
                        pkg_py("torch/optim/adamw.py", "AdamW.step", 184)};
  ThreadSpec others = in_gloo(world_call("all_gather"), step(112));
  others.earlier = in_gloo(world_call("reduce_scatter"), step(108)).frames;
  others.cpu_step_us = 45'000;
  others.switch_step = 30;
  CaptureBuilder job = job_of(4, 4, Backend::kGloo, others, 5);
  replace(job, 12, elsewhere_before(running(later + step(110), 490'000), adam + step(110)));
  return job;
}

// --- slow: near misses ---

CaptureBuilder two_looks_only() {
  CaptureBuilder job = job_of(2, 4, Backend::kGloo, passing_all_reduce(91, 94), 2);
  replace(job, 3, elsewhere_before(running(step(72), 480'000), step(71)));
  return job;
}

// In one sample rank 3 is the last, in the next rank 5: that is how steps end.
CaptureBuilder another_one_each_time() {
  CaptureBuilder job = job_of(2, 4, Backend::kGloo, passing_all_reduce(91, 94), 3);
  ThreadSpec early = passing_all_reduce(91, 94);
  early.earlier = step(72);
  replace(job, 3, early);
  ThreadSpec late = running(step(72), 100'000);
  late.earlier = passing_all_reduce(91, 91).frames;
  replace(job, 5, late);
  return job;
}

// --- busy_rank ---

CaptureBuilder evaluates_on_rank_0() {
  CaptureBuilder job = job_of(2, 4, Backend::kNccl, in_nccl_call(world_call("barrier"), step(166)));
  replace(job, 0,
          running(Frames{pkg_py("sacrebleu/metrics/bleu.py", "BLEU._compute_f", 219)} +
                      program_at("llama/pretrain.py",
                                 {{"evaluate", 181}, {"train", 205}, {"<module>", 305}}),
                  4'800'000));
  return job;
}

// Megatron's first rank builds the shuffled index of the data set; a billion samples take a while.
CaptureBuilder builds_the_index() {
  const std::string_view file = "megatron/core/datasets/gpt_dataset.py";
  CaptureBuilder job = job_of(2, 8, Backend::kNccl, in_nccl_call(world_call("barrier"), step(31)));
  replace(job, 0,
          running(Frames{pkg_py(file, "_build_shuffle_index", 640),
                         pkg_py(file, "GPTDataset._build_document_sample_shuffle_indices", 418)} +
                      step(31),
                  2'600'000));
  return job;
}

CaptureBuilder compiles_alone() {
  CaptureBuilder job = job_of(1, 8, Backend::kGloo, in_ddp_backward(step(96)));
  replace(job, 2,
          running(Frames{pkg_py("torch/_inductor/scheduler.py", "Scheduler.fuse_nodes_once", 1850),
                         pkg_py("torch/_inductor/compile_fx.py", "compile_fx_inner", 565),
                         pkg_py("torch/_dynamo/convert_frame.py", "_compile", 524)} +
                      step(80),
                  3'000'000));
  return job;
}

// Ranks that wait in NCCL spin: at 100 % of a core they do nothing, and the one that sleeps is
// late.
CaptureBuilder spinning_waiters() {
  CaptureBuilder job = job_of(2, 4, Backend::kNccl, in_nccl_call(world_call("barrier"), step(166)));
  replace(job, 4,
          blocked(WaitOn::kUnknown, "clock_nanosleep",
                  python_sleep() + program_at("llama/pretrain.py", {{"wait_for_quota", 44},
                                                                    {"save", 160},
                                                                    {"train", 205},
                                                                    {"<module>", 305}})));
  return job;
}

// Sleeps in an evaluation's loop over batches, of which `left` are left, and were `before`.
CaptureBuilder evaluates_batches(std::int64_t before, std::int64_t left) {
  CaptureBuilder job = job_of(2, 4, Backend::kGloo, in_gloo(world_call("barrier"), step(166)));
  const Frames inside = program_at("llama/pretrain.py", {{"read_batch", 171}, {"evaluate", 181}});
  replace(job, 0,
          blocked(WaitOn::kUnknown, "clock_nanosleep", python_sleep() + inside + step(160)));
  snapshot::ThreadCapture& thread = job.capture.processes.front().threads.front();
  snapshot::PythonLoop& loop = thread.loops.emplace_back();
  loop.frame = static_cast<std::uint32_t>(python_sleep().size() + 1);
  loop.iterates = true;
  loop.left = left;
  loop.left_before = before;
  loop.between_ms = 2000;
  return job;
}

CaptureBuilder gets_batches_done() {
  return evaluates_batches(1213, 1200);
}

CaptureBuilder stands_at_one_batch() {
  return evaluates_batches(1200, 1200);
}

}  // namespace

std::vector<Story> stories_of_progress() {
  return {
      {"arriving",
       "ranks arrive at an all_reduce one after the other",
       Kind::kHealthy,
       {},
       healthy_job},
      {"compile_phase", "hangs.md B5: every rank compiles", Kind::kHealthy, {}, compile_phase},
      {"checkpoint",
       "a sharded checkpoint, all ranks write",
       Kind::kHealthy,
       {},
       checkpoint_of_all_ranks,
       Kind::kIoStall},
      {"pipeline_at_work", "1F1B; some stages always wait", Kind::kHealthy, {}, pipeline_at_work},
      {"hot_device", "hangs.md G1: one slow GPU", Kind::kSlow, {3}, hot_device},
      {"decodes_by_itself", "G1: num_workers=0 on one rank", Kind::kSlow, {6}, decodes_by_itself},
      {"oversubscribed",
       "G1, FreeToken#371: OpenMP threads on one core",
       Kind::kSlow,
       {12},
       oversubscribed_optimizer},
      {"gets_batches_done",
       "G1: only rank 0 evaluates, a batch of many at a time",
       Kind::kSlow,
       {0},
       gets_batches_done},
      {"stands_at_one_batch",
       "in a loop that does not come nearer to its end",
       Kind::kSkippedCollective,
       {0},
       stands_at_one_batch,
       Kind::kSlow},
      {"two_looks",
       "two samples do not show who is always the last",
       Kind::kHealthy,
       {},
       two_looks_only,
       Kind::kSlow},
      {"another_each_time",
       "somebody is always the last",
       Kind::kHealthy,
       {},
       another_one_each_time,
       Kind::kSlow},
      {"compiles_kernels",
       "one rank compiles kernels of its own",
       Kind::kBusyRank,
       {1},
       busy_rank_job},
      {"evaluates_on_rank_0",
       "hangs.md G1: only rank 0 evaluates",
       Kind::kBusyRank,
       {0},
       evaluates_on_rank_0},
      {"builds_the_index", "G1: preprocessing on rank 0", Kind::kBusyRank, {0}, builds_the_index},
      {"compiles_alone", "B5: a recompilation on one rank", Kind::kBusyRank, {2}, compiles_alone},
      {"spinning_waiters",
       "F5: 100 % CPU is not working",
       Kind::kSkippedCollective,
       {4},
       spinning_waiters,
       Kind::kBusyRank},
  };
}

}  // namespace oddrank::tests

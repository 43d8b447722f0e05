#include "aggregate/frames/frame_model.h"

#include "tests/support/catch.h"
#include "tests/support/hung_jobs.h"

namespace oddrank::aggregate {

using tests::CaptureBuilder;
using tests::Frames;
using tests::native;
using tests::py;
using tests::ThreadSpec;

namespace {

struct Folder {
  CaptureBuilder builder{{"n0"}, 1};
  snapshot::ThreadSample sample;

  explicit Folder(const Frames& frames) {
    ThreadSpec spec;
    spec.frames = frames;
    auto& process = builder.rank(0, "n0", 10);
    sample = builder.thread(process, spec).samples.back();
  }
  std::vector<std::string> names() {
    FrameModel model(builder.capture.tables);
    std::vector<std::string> names;
    for (const ShownFrame& frame : model.fold(sample).frames) {
      names.push_back(frame.name);
    }
    return names;
  }
};

// The keys of stacks of one capture, by which places are compared.
struct PlaceKeys {
  CaptureBuilder builder{{"n0"}, 2};

  std::string operator()(const Frames& frames, pid_t pid) {
    ThreadSpec spec;
    spec.frames = frames;
    const auto sample = builder.thread(builder.rank(0, "n0", pid), spec).samples.back();
    return FrameModel(builder.capture.tables).fold(sample).key;
  }
};

constexpr std::string_view kLibc = "/lib/libc.so.6";

}  // namespace

TEST_CASE("the interpreter and libc's inner works are folded away") {
  Folder folder(tests::in_all_reduce().frames);
  CHECK(folder.names() == std::vector<std::string>{"pthread_cond_wait", "c10d::Work::wait",
                                                   "all_reduce", "average_gradients", "main",
                                                   "<module>"});
}

TEST_CASE("libc frames show the call that was made, under the name that people know") {
  CHECK(Folder({native("__GI___read", kLibc), py("f", "/a/b.py", 1)}).names().front() == "read");
  CHECK(Folder({native("__new_sem_wait_slow64.constprop.0", kLibc), py("f", "/a/b.py", 1)})
            .names()
            .front() == "sem_wait");
  CHECK(Folder({native("__libc_recv", kLibc), py("f", "/a/b.py", 1)}).names().front() == "recv");
}

TEST_CASE("a collective below Python's frames is kept, other native frames there are not") {
  const auto names =
      Folder({native("inner", "/x/ext.so"), py("f", "/a/b.py", 1),
              native("_ZN4c10d7Reducer17finalize_backwardEv", "/usr/lib/libtorch.so"),
              native("other", "/usr/lib/libtorch.so"), py("g", "/a/b.py", 2)})
          .names();
  CHECK(names == std::vector<std::string>{"inner", "f", "c10d::Reducer::finalize_backward", "g"});
}

TEST_CASE("a program's own native frames are kept below Python's, those of libraries are not") {
  const auto names_with = [](std::string_view module) {
    return Folder({native("__GI___read", kLibc), py("load", "/home/u/data.py", 5),
                   native("_PyEval_EvalFrameDefault", "/usr/lib/libpython3.11.so.1.0"),
                   native("run_step", module), native("main", module),
                   native("__libc_start_main", kLibc)})
        .names();
  };
  using Names = std::vector<std::string>;
  for (const auto* const module :
       {"/home/u/sim/build/solver", "/usr/bin/solver", "/home/u/sim/build/lib.linux/step.so"}) {
    INFO(module);
    CHECK(names_with(module) == Names{"read", "load", "run_step", "main"});
  }
  for (const auto* const module :
       {"/usr/bin/python3.11", "/opt/env/bin/python3.12", "/usr/lib/x86_64-linux-gnu/libfoo.so.1",
        "/opt/env/lib/libfoo.so", "/home/u/.local/lib/python3.11/site-packages/foo/foo.so",
        "/usr/local/cuda/lib64/libfoo.so", "[vdso]"}) {
    INFO(module);
    CHECK(names_with(module) == Names{"read", "load"});
  }
}

TEST_CASE("what calls the program back is shown between its frames") {
  CHECK(Folder({native("clock_nanosleep", kLibc), py("compare", "/home/u/sort.py", 5),
                native("msort_with_tmp", kLibc), native("qsort_r", kLibc),
                native("ffi_call", "/usr/lib/libffi.so.8"), py("<module>", "/home/u/sort.py", 9)})
            .names() ==
        std::vector<std::string>{"clock_nanosleep", "compare", "qsort_r", "<module>"});
}

TEST_CASE("a stack that has only internals is shown as it is") {
  CHECK(Folder({native("_PyEval_EvalFrameDefault", "/usr/bin/python3.11"),
                native("Py_RunMain", "/usr/bin/python3.11")})
            .names()
            .size() == 2);
  CHECK(Folder(Frames{}).names().empty());
}

TEST_CASE("frames without a symbol have module and offset") {
  Folder folder({native("", "/x/libfoo.so"), native("", "")});
  const auto names = folder.names();
  REQUIRE(names.size() == 2);
  CHECK(names[0] == "libfoo.so+0x1000");
  CHECK(names[1] == "<code made at run time>");
}

TEST_CASE("equal places have equal keys, in whichever libc function they wait") {
  const Frames outer = {py("f", "/a/b.py", 1)};
  PlaceKeys key;
  CHECK(key(Frames{native("poll", kLibc)} + outer, 1) ==
        key(Frames{native("sched_yield", kLibc)} + outer, 2));
  CHECK(key(outer, 3) != key({py("f", "/a/b.py", 2)}, 4));
}

TEST_CASE("a rank that goes round in Open MPI is at one place") {
  const std::string_view progress = "/lib/libopen-pal.so.40.30.2";
  const Frames outer = {native("opal_progress", progress),
                        native("PMPI_Allreduce", "/lib/libmpi.so.40"), native("main", "/x/train")};
  PlaceKeys key;
  const Frames asks = {native("poll", kLibc), native("", "/lib/libevent_core-2.1.so.7.0.1"),
                       native("event_base_loop", "/lib/libevent_core-2.1.so.7.0.1")};
  const Frames looks = {native("", "/lib/openmpi3/mca_btl_vader.so")};
  CHECK(key(asks + outer, 1) == key(looks + outer, 2));
}

TEST_CASE("where a signal was delivered is shown, and the call that it interrupted") {
  auto delivered = native("<signal SIGUSR1 delivered here>", kLibc);
  delivered.flags = snapshot::kSignalFrame;
  const Frames frames = {
      native("__GI___read", kLibc),    native("on_signal", "/x/ext.so"), delivered,
      native("syscall_cancel", kLibc), native("__poll", kLibc),          py("main", "/a/b.py", 1)};
  CHECK(Folder(frames).names() == std::vector<std::string>{"read", "on_signal",
                                                           "<signal SIGUSR1 delivered here>",
                                                           "poll", "main"});
  delivered.function = "__restore_rt";  // as older captures have it
  CHECK(Folder({native("__GI___read", kLibc), delivered, native("__poll", kLibc)}).names() ==
        std::vector<std::string>{"read", "<signal delivered here>", "poll"});
}

TEST_CASE("a guessed frame says so on a screen, and compares like any other") {
  auto guessed = native("spin", "/x/ext.so");
  guessed.flags = snapshot::kHeuristic;
  Folder folder({guessed, py("main", "/a/b.py", 1)});
  FrameModel model(folder.builder.capture.tables);
  const ShownFrame frame = model.fold(folder.sample).frames.front();
  CHECK(frame.shown_place() == "ext.so (guessed)");
  CHECK(frame.place() == "ext.so");
}

TEST_CASE("functions of Cython are shown where they were called, each once") {
  constexpr std::string_view kModule = "/x/cyx.cpython-311-x86_64-linux-gnu.so";
  CHECK(
      Folder({py("callback", "/a/b.py", 1), native("__pyx_f_3cyx_5Model_both", kModule),
              native("__pyx_pw_3cyx_5Model_3both", kModule), native("__Pyx_PyObject_Call", kModule),
              native("__Pyx_CyFunction_Vectorcall_NOARGS", "/x/cyx.so"), py("main", "/a/b.py", 2)})
          .names() == std::vector<std::string>{"callback", "cyx.Model.both", "main"});
}

TEST_CASE("code made at run time is shown once, at a place that is the same in all processes") {
  Folder folder({native("", ""), native("", ""), native("Dispatcher_call", "/x/site-packages/d.so"),
                 py("main", "/a/b.py", 2), native("", "")});
  FrameModel model(folder.builder.capture.tables);
  const auto folded = model.fold(folder.sample);
  REQUIRE(folded.frames.size() == 3);
  CHECK(folded.frames.front().name == "<code made at run time>");
  CHECK(folded.frames.front().shown_place() == "0x1000");
  CHECK(folded.key.find("0x") == std::string::npos);
}

TEST_CASE("a loop of events that calls back is shown within a module of Python") {
  CHECK(Folder({native("uv_run", "/x/loop.cpython-311-x86_64-linux-gnu.so"),
                native("f", "/x/loop.cpython-311-x86_64-linux-gnu.so"), py("main", "/a/b.py", 2)})
            .names() == std::vector<std::string>{"uv_run", "main"});
}

TEST_CASE("a mismatch loses no frame") {
  CaptureBuilder builder({"n0"}, 1);
  ThreadSpec first;
  first.frames = {native("inner", "/x/ext.so")};
  ThreadSpec second;
  second.frames = {py("f", "/a/b.py", 1)};
  auto& process = builder.rank(0, "n0", 10);
  auto sample = builder.thread(process, first).samples.back();
  sample.python_stack = builder.thread(process, second).samples.back().stack;
  FrameModel model(builder.capture.tables);
  CHECK(model.fold(sample).frames.size() == 2);
  CHECK(model.all_frames(sample).size() == 2);
}

TEST_CASE("ids that are not in the tables are no frames") {
  CaptureBuilder builder({"n0"}, 1);
  snapshot::ThreadSample sample;
  sample.stack = snapshot::StackId{77};
  snapshot::Stack broken;
  broken.frames = {snapshot::FrameId{123456}};
  sample.python_stack = builder.capture.tables.stack(broken);
  FrameModel model(builder.capture.tables);
  CHECK(model.fold(sample).frames.empty());
}

TEST_CASE("files are shown by the most informative part of their path") {
  CHECK(short_file("/v/lib/python3.11/site-packages/torch/a/b.py") == "torch/a/b.py");
  CHECK(short_file("/usr/lib/python3.11/multiprocessing/queues.py") == "multiprocessing/queues.py");
  CHECK(short_file("/usr/lib/python3/dist-packages/torch/x.py") == "torch/x.py");
  CHECK(short_file("/home/u/demo/train.py") == "demo/train.py");
  CHECK(short_file("train.py") == "train.py");
  CHECK(short_file("/train.py") == "/train.py");
  CHECK(short_file("<string>") == "<string>");
  CHECK(short_file("").empty());
  CHECK(short_file("/lib/python3") == "lib/python3");
}

TEST_CASE("the user's own frame is found behind libraries") {
  Folder folder(tests::in_loader(1).frames);
  FrameModel model(folder.builder.capture.tables);
  const auto frame = model.user_frame(folder.sample);
  REQUIRE(frame);
  CHECK(frame->name == "train");
  CHECK(frame->place() == "demo/train.py:70");
  CHECK(model.story(folder.sample, Story::kLoader));
  CHECK_FALSE(model.story(folder.sample, Story::kFailed));
}

TEST_CASE("code that a collective's function runs beside its call is not inside the library") {
  constexpr std::string_view kC10d = "/v/site-packages/torch/distributed/distributed_c10d.py";
  const auto is_inside = [](const Frames& frames) {
    const Folder folder(frames);
    FrameModel model(folder.builder.capture.tables);
    return model.story(folder.sample, Story::kCommunicates).has_value();
  };
  const auto sleep = native("__GI___clock_nanosleep", kLibc);
  const auto reduce = py("Sample.__reduce__", "/job/data.py", 7);
  CHECK_FALSE(is_inside(
      {sleep, reduce, py("_object_to_tensor", kC10d, 1), py("all_gather_object", kC10d, 2)}));
  CHECK_FALSE(is_inside({sleep, py("on_signal", "/job/train.py", 9), py("all_reduce", kC10d, 1)}));
  CHECK(is_inside({native("poll", kLibc), py("all_reduce", kC10d, 1)}));
  // The library has called this code.
  CHECK(is_inside({sleep, py("allreduce", "/v/torchft/process_group.py", 9),
                   native("c10d::PyProcessGroup::allreduce", "/v/torch/lib/libtorch_python.so"),
                   py("all_reduce", kC10d, 1)}));
}

TEST_CASE("NCCL's threads and calls are known by whatever name the library has") {
  for (const std::string_view name : {"libnccl", "librccl", "libmscclpp"}) {
    INFO(name);
    const Folder folder({native("poll", kLibc), native("", "/x/lib/" + std::string(name) + ".so.2"),
                         native("start_thread", kLibc)});
    FrameModel model(folder.builder.capture.tables);
    CHECK(model.story(folder.sample, Story::kCommunicates));
    const auto pool = model.idle_pool(folder.sample);
    REQUIRE(pool);
    CHECK(pool->pattern->words == "NCCL helpers");
  }
  const Folder elsewhere({native("poll", kLibc), native("f", "/opt/libnccl-tests/train.so")});
  FrameModel model(elsewhere.builder.capture.tables);
  CHECK_FALSE(model.story(elsewhere.sample, Story::kCommunicates));
}

TEST_CASE("inlined frames are for people, and do not affect comparisons") {
  const Frames frames = {native("read", kLibc), native("_ZN1A4workEv", "/x/ext.so"),
                         py("f", "/a/b.py", 1)};
  Folder plain(frames);
  Folder inlined(frames);
  auto& tables = inlined.builder.capture.tables;
  snapshot::Stack stack = tables.stack(inlined.sample.stack);
  snapshot::Frame work = tables.frame(stack.frames[1]);
  work.source = tables.string("/home/ada/src/work.cc");
  work.line = 12;
  snapshot::Frame queue = work;
  queue.function = tables.string("_ZN5Queue4takeEv");
  queue.flags = snapshot::kInlined;
  queue.line = 66;
  stack.frames[1] = tables.frame(work);
  stack.frames.insert(stack.frames.begin() + 1, tables.frame(queue));
  inlined.sample.stack = tables.stack(stack);

  FrameModel without(plain.builder.capture.tables);
  FrameModel with(tables);
  CHECK(with.fold(inlined.sample).key == without.fold(plain.sample).key);
  CHECK(with.fold(inlined.sample).frames.size() == without.fold(plain.sample).frames.size());
  CHECK(with.fold(inlined.sample).hidden == without.fold(plain.sample).hidden);

  const FoldedStack shown = with.fold_with_inlined(inlined.sample);
  REQUIRE(shown.frames.size() == 4);
  CHECK(shown.frames[0].name == "read");
  CHECK(shown.frames[1].name == "Queue::take");
  CHECK(shown.frames[1].shown_place() == "src/work.cc:66 (inlined)");
  CHECK(shown.frames[2].name == "A::work");
  CHECK(shown.frames[2].shown_place() == "src/work.cc:12");
  CHECK(shown.frames[2].place() == "ext.so");
}

}  // namespace oddrank::aggregate

#include "waits/node/device_wait.h"

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "snapshot/tables.h"
#include "tests/support/catch.h"

namespace oddrank::waits {
namespace {

using snapshot::Frame;
using snapshot::FrameKind;
using snapshot::WaitOn;

struct FrameText {
  std::string_view function;
  std::string_view file;
  std::uint64_t offset = 0;
};

constexpr FrameText kYield{"__sched_yield", "/usr/lib/libc.so.6"};
constexpr FrameText kDriver{"", "/usr/lib/libcuda.so.1"};
constexpr FrameText kTrain{"train", "/home/ada/train.py"};
constexpr FrameText kPlugin{"", "/home/ada/plugin.so"};

// A process with one thread; each sample adds its frames, innermost first.
struct Scene {
  snapshot::Tables tables;
  snapshot::ProcessCapture process;
  snapshot::ThreadCapture thread;
  snapshot::Wait wait;

  explicit Scene(WaitOn on) {
    process.pid = 10;
    wait.on = on;
  }

  Scene& sample(char state, std::initializer_list<FrameText> frames) {
    snapshot::Stack stack;
    for (const FrameText& each : frames) {
      Frame frame;
      frame.kind = each.file.ends_with(".py") ? FrameKind::kPython : FrameKind::kNative;
      frame.function = tables.string(each.function);
      frame.file = tables.string(each.file);
      frame.offset = each.offset;
      stack.frames.push_back(tables.frame(frame));
    }
    snapshot::ThreadSample next;
    next.stack = tables.stack(stack);
    next.state = state;
    thread.samples.push_back(next);
    return *this;
  }

  WaitOn found() {
    name_device_wait(process, thread, tables, wait);
    return wait.on;
  }
};

FrameText driver(std::string_view function) {
  return {function, "/usr/lib/libcuda.so.1"};
}

TEST_CASE("a thread in a call that waits is waiting, even if it uses the CPU") {
  Scene spins(WaitOn::kNothing);
  CHECK(spins.sample('R', {kDriver, driver("cuStreamSynchronize"), kTrain}).found() ==
        WaitOn::kDevice);
  CHECK(spins.wait.inferred);
  CHECK(spins.tables.text(spins.wait.detail) ==
        "waits for the device in cuStreamSynchronize() of libcuda.so.1");
  Scene sleeps(WaitOn::kUnknown);
  sleeps.wait.detail = sleeps.tables.string("sleeps (poll)");
  CHECK(sleeps.sample('S', {kDriver, driver("cuMemcpyDtoH_v2"), kTrain}).found() ==
        WaitOn::kDevice);
  CHECK(sleeps.tables.text(sleeps.wait.detail) ==
        "waits for the device in cuMemcpyDtoH() of libcuda.so.1; sleeps (poll)");
}

TEST_CASE("a wait whose other side is known stays what it is") {
  for (const WaitOn on : {WaitOn::kGil, WaitOn::kChild, WaitOn::kThread, WaitOn::kFile,
                          WaitOn::kFileLock, WaitOn::kDebugger, WaitOn::kSignal}) {
    Scene scene(on);
    CHECK(scene.sample('S', {driver("cuCtxSynchronize"), kTrain}).found() == on);
  }
  Scene lock(WaitOn::kLock);
  lock.wait.holder_tid = 11;
  CHECK(lock.sample('S', {driver("cuCtxSynchronize"), kTrain}).found() == WaitOn::kLock);
  Scene socket(WaitOn::kSocket);
  socket.wait.rare.edit().peer = socket.tables.string("10.0.0.2:5000");
  CHECK(socket.sample('S', {driver("ncclCommFinalize"), kTrain}).found() == WaitOn::kSocket);
}

TEST_CASE("a call that need not wait") {
  Scene works(WaitOn::kNothing);
  works.sample('R', {kDriver, driver("cuLaunchKernel"), kTrain});
  CHECK(works.sample('R', {kDriver, driver("cuLaunchKernel"), kTrain}).found() == WaitOn::kNothing);
  Scene sleeps(WaitOn::kUnknown);
  CHECK(sleeps.sample('S', {driver("cuMemFree_v2"), kTrain}).found() == WaitOn::kDevice);
  Scene yields(WaitOn::kNothing);
  CHECK(yields.sample('R', {kYield, kDriver, driver("cuLaunchKernel"), kTrain}).found() ==
        WaitOn::kNothing);
  CHECK(yields.sample('R', {kYield, kDriver, driver("cuLaunchKernel"), kTrain}).found() ==
        WaitOn::kDevice);
}

// The frames of two samples inside a launch, innermost first, on their way in from the same caller.
WaitOn in_launch(std::initializer_list<FrameText> one, std::initializer_list<FrameText> other) {
  Scene scene(WaitOn::kNothing);
  scene.sample('R', one).found();
  return scene.sample('R', other).found();
}

FrameText at(std::uint64_t offset) {
  return {"", "/usr/lib/libcuda.so.1", offset};
}

FrameText at_hip(std::uint64_t offset) {
  return {"", "/opt/rocm/lib/libamdhip64.so.6", offset};
}

TEST_CASE("a launch that polls in one activation waits, as for a kernel's first launch") {
  const FrameText launch{"cuLaunchKernel", "/usr/lib/libcuda.so.1", 7};
  const FrameText clock{"clock_gettime", "[vdso]", 1};
  const FrameText compiler{"", "/usr/lib/libnvidia-ptxjitcompiler.so.1", 1};
  CHECK(in_launch({at(91), at(33), at(22), at(11), launch, kTrain},
                  {clock, at(92), at(22), at(11), launch, kTrain}) == WaitOn::kDevice);
  // Another launch: the functions inside were called at other instructions.
  CHECK(in_launch({at(91), at(22), at(11), launch, kTrain},
                  {at(91), at(23), at(12), launch, kTrain}) == WaitOn::kNothing);
  CHECK(in_launch({at(91), at(22), at(11), launch, kTrain}, {at(92), at(11), launch, kTrain}) ==
        WaitOn::kNothing);
  // It compiles.
  CHECK(in_launch({at(91), at(22), at(11), launch, kTrain},
                  {compiler, at(22), at(11), launch, kTrain}) == WaitOn::kNothing);
  // HIP's runtime has ROCr's inside of it.
  const FrameText hip{"hipLaunchKernel", "/opt/rocm/lib/libamdhip64.so.6", 7};
  const FrameText hip_wait{"", "/opt/rocm/lib/libamdhip64.so.6", 5};
  const FrameText ready{"", "/opt/rocm/lib/libhsa-runtime64.so.1", 3};
  CHECK(in_launch({ready, at_hip(6), hip_wait, hip, kTrain}, {at_hip(6), hip_wait, hip, kTrain}) ==
        WaitOn::kDevice);
  // Code of the program runs inside.
  CHECK(in_launch({at(91), at(22), at(11), launch, kTrain},
                  {kPlugin, at(22), at(11), launch, kTrain}) == WaitOn::kNothing);
  // Another caller.
  CHECK(in_launch({at(22), at(11), launch, {"warm_up", "/home/ada/train.py"}},
                  {at(22), at(11), launch, kTrain}) == WaitOn::kNothing);
}

TEST_CASE("a loop of the program that asks for the device waits for it, asleep or not") {
  for (const char* asks : {"torch.cuda.streams.Event.query", "subprocess.Popen.poll", "query"}) {
    INFO(asks);
    Scene scene(WaitOn::kUnknown);
    snapshot::PythonLoop& loop = scene.thread.loops.emplace_back();
    for (const char* name : {asks, "sleep"}) {
      loop.calls.push_back({scene.tables.string(name), {}});
    }
    scene.sample('S', {{"clock_nanosleep", "/usr/lib/libc.so.6"}, kTrain});
    const bool of_device = std::string_view(asks).starts_with("torch.cuda");
    CHECK(scene.found() == (of_device ? WaitOn::kDevice : WaitOn::kUnknown));
  }
  Scene works(WaitOn::kUnknown);
  snapshot::PythonLoop& loop = works.thread.loops.emplace_back();
  for (const char* name : {"torch.cuda.streams.Event.query", "sleep", "train_step"}) {
    loop.calls.push_back({works.tables.string(name), {}});
  }
  CHECK(works.sample('S', {kTrain}).found() == WaitOn::kUnknown);
}

TEST_CASE("a query counts if the thread is found there each time") {
  Scene scene(WaitOn::kNothing);
  CHECK(scene.sample('R', {driver("cuEventQuery"), kTrain}).found() == WaitOn::kNothing);
  CHECK(scene.sample('R', {driver("cuEventQuery"), kTrain}).found() == WaitOn::kDevice);
  Scene elsewhere(WaitOn::kNothing);
  elsewhere.sample('R', {driver("cuEventQuery"), {"other", "/home/ada/train.py"}});
  CHECK(elsewhere.sample('R', {driver("cuEventQuery"), kTrain}).found() == WaitOn::kNothing);
}

TEST_CASE("a driver without names") {
  Scene scene(WaitOn::kNothing);
  CHECK(scene.sample('R', {kDriver, kDriver, kPlugin, kTrain}).found() == WaitOn::kNothing);
  CHECK(scene.sample('R', {kDriver, kPlugin, kTrain}).found() == WaitOn::kDevice);
  Scene own(WaitOn::kNothing);  // a thread that the driver has started
  own.sample('R', {kDriver, {"start_thread", "/usr/lib/libc.so.6"}});
  CHECK(own.sample('R', {kDriver, {"start_thread", "/usr/lib/libc.so.6"}}).found() ==
        WaitOn::kNothing);
  Scene inside(WaitOn::kNothing);  // the program's own function, called back
  inside.sample('R', {kPlugin, kDriver, kTrain});
  CHECK(inside.sample('R', {kPlugin, kDriver, kTrain}).found() == WaitOn::kNothing);
}

TEST_CASE("Python frames inside a call do not count") {
  Scene scene(WaitOn::kUnknown);
  CHECK(
      scene.sample('S', {kTrain, {"c10::cuda::stream_synchronize", "/x/libc10_cuda.so"}}).found() ==
      WaitOn::kUnknown);
}

TEST_CASE("Python's frames alone") {
  constexpr FrameText kSync{"Stream.synchronize", "/venv/torch/cuda/streams.py"};
  Scene scene(WaitOn::kNothing);
  CHECK(scene.sample('R', {kSync, kTrain}).found() == WaitOn::kDevice);
  Scene outer(WaitOn::kNothing);
  CHECK(outer.sample('R', {kTrain, kSync}).found() == WaitOn::kNothing);
}

TEST_CASE("a file of the device names it, a counter of the driver itself does not") {
  Scene device(WaitOn::kDevice);
  device.wait.path = device.tables.string("/dev/nvidia0");
  device.sample('S', {driver("cuCtxSynchronize"), kTrain}).found();
  CHECK(device.tables.text(device.wait.path) == "/dev/nvidia0");
  Scene counter(WaitOn::kUnknown);
  counter.wait.path = counter.tables.string("anon_inode:[eventfd]");
  counter.sample('S', {driver("cuCtxSynchronize"), kTrain}).found();
  CHECK(counter.tables.text(counter.wait.path).empty());
}

}  // namespace
}  // namespace oddrank::waits

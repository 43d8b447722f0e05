#include "report/listed_objects.h"

#include <algorithm>

#include "report/report_json.h"

namespace oddrank::report {
namespace {

using snapshot::ThreadCapture;

// A thread whose stack has to be cut shorter than this would say little.
constexpr std::size_t kFewFrames = 64;

std::size_t frames_in(const aggregate::JobView& view, snapshot::StackId stack) {
  return view.capture().tables.stacks()[stack].frames.size();
}

std::size_t frames_of(const aggregate::JobView& view, const ThreadCapture& thread) {
  return thread.samples.empty() ? 0
                                : frames_in(view, thread.samples.back().stack) +
                                      frames_in(view, thread.samples.back().python_stack);
}

// A thread has as many fields as some frames.
std::size_t objects_beside_frames(const ThreadCapture& thread) {
  std::size_t objects = 4 + thread.loops.size();
  for (const snapshot::PythonLoop& loop : thread.loops) {
    objects += loop.calls.size();
  }
  return objects;
}

std::size_t objects_of_frames(const ThreadCapture& thread, std::size_t frames) {
  std::size_t objects = frames;
  for (const snapshot::FrameLocals& row : thread.locals) {
    objects += row.frame < frames ? 1 + row.locals.size() : 0;
  }
  return objects;
}

}  // namespace

std::size_t ListingRoom::take(const ThreadCapture& thread) {
  const std::size_t room = kMaxListedOfProcess - taken_;
  const std::size_t beside = objects_beside_frames(thread);
  const std::size_t all = frames_of(view_, thread);
  const std::size_t least = std::min(all, kFewFrames);
  std::size_t frames = std::min(all, kMaxListedFrames);
  while (frames > least && beside + objects_of_frames(thread, frames) > room) {
    frames = std::max(least, frames - frames / 4);
  }
  const std::size_t objects = beside + objects_of_frames(thread, frames);
  if (objects > room) {
    return 0;
  }
  taken_ += objects;
  return std::max(frames, std::size_t{1});  // a thread whose stack was not read has its other facts
}

bool ListingRoom::take(const snapshot::AsyncTask& task) {
  const std::size_t objects = 1 + task.members.size() + frames_in(view_, task.stack);
  const bool fits = taken_ + objects <= kMaxListedOfProcess;
  taken_ += fits ? objects : 0;
  return fits;
}

std::size_t listed_objects(const aggregate::JobView& view,
                           const snapshot::ProcessCapture& process) {
  ListingRoom room(view);
  for (const ThreadCapture& thread : process.threads) {
    room.take(thread);
  }
  for (const snapshot::AsyncTask& task : process.tasks) {
    room.take(task);
  }
  return room.taken();
}

}  // namespace oddrank::report

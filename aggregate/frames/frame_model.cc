#include "aggregate/frames/frame_model.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/base_name.h"
#include "base/names/demangle.h"
#include "base/printable.h"

namespace oddrank::aggregate {

using snapshot::Frame;
using snapshot::FrameId;
using snapshot::FrameKind;
using snapshot::StackId;
using snapshot::ThreadSample;

namespace {

constexpr std::size_t kMaxName = 160;
constexpr const char* kRunTimeCode = "<code made at run time>";  // by Numba, XLA, libffi

// Folders of the standard library and installed packages: code that is not the user's program.
constexpr std::array<std::string_view, 3> kLibraryRoots = {"/site-packages/", "/dist-packages/",
                                                           "/lib/python3"};

// Returns what patterns compare.
std::string_view file_in_patterns(FrameKind kind, std::string_view path) {
  return kind == FrameKind::kNative ? base_name(path) : path;
}

FrameRole role_of(const Frame& frame,
                  std::string_view name,
                  std::string_view path,
                  snapshot::Library library) {
  if ((frame.flags & snapshot::kEvaluation) != 0 && frame.kind == FrameKind::kNative) {
    return FrameRole::kInternal;
  }
  const std::string_view file = file_in_patterns(frame.kind, path);
  for (const FramePattern& pattern : frame_patterns()) {
    if (pattern.story == Story::kNone && pattern.fits(frame.kind, file, name, library)) {
      return pattern.role;
    }
  }
  return FrameRole::kPlain;
}

// Returns "poll" for "__GI___poll", "pthread_cond_wait" for "pthread_cond_wait@@GLIBC_2.3.2".
std::string libc_name(std::string_view name) {
  name = name.substr(0, name.find('@'));
  if (name.substr(0, 5) == "__GI_") {
    name.remove_prefix(5);
  }
  if (name.substr(0, 7) == "__libc_") {
    name.remove_prefix(7);
  }
  while (!name.empty() && name.front() == '_') {
    name.remove_prefix(1);
  }
  if (name.substr(0, 12) == "new_sem_wait") {
    return "sem_wait";
  }
  return std::string(name);
}

// Returns whether the user has written the file. That includes code without a file: a notebook's
// cell, or a function that was sent to another process ("<dynamic-code>"); but not what the
// interpreter or a library has made ("<frozen runpy>", "<string>", "<decorator-gen-3>").
bool is_users(std::string_view file) {
  constexpr std::array<std::string_view, 6> kMade = {"<frozen", "<string",    "<decorator",
                                                     "<attrs",  "internals>", "<unknown"};
  if (file.starts_with('<')) {
    return std::ranges::none_of(
        kMade, [file](auto made) { return file.find(made) != std::string_view::npos; });
  }
  return !file.empty() && std::ranges::none_of(kLibraryRoots, [file](auto root) {
    return file.find(root) != std::string_view::npos;
  });
}

// Returns whether the module is a program or library of the user's own: not one of the system, of
// an environment's lib folder, of an installed package, or the interpreter.
bool is_users_module(std::string_view path) {
  constexpr std::array<std::string_view, 6> kPlaces = {
      "/lib/", "/lib64/", "/lib32/", "/libexec/", "/site-packages/", "/dist-packages/"};
  const std::string_view name = base_name(path);
  return path.starts_with('/') && !name.starts_with("python") && !name.starts_with("libpython") &&
         std::ranges::none_of(
             kPlaces, [path](auto place) { return path.find(place) != std::string_view::npos; });
}

}  // namespace

std::string short_file(std::string_view path) {
  for (const std::string_view root : kLibraryRoots) {
    const std::size_t at = path.rfind(root);
    if (at == std::string_view::npos) {
      continue;
    }
    std::string_view rest = path.substr(at + root.size());
    if (root.back() != '/') {
      rest = rest.substr(std::min(rest.find('/'), rest.size() - 1) + 1);
    }
    if (!rest.empty()) {
      return std::string(rest);
    }
  }
  const std::size_t last = path.rfind('/');
  if (last == std::string_view::npos || last == 0) {
    return std::string(path);
  }
  const std::size_t before = path.rfind('/', last - 1);
  return std::string(before == std::string_view::npos ? path : path.substr(before + 1));
}

std::string ShownFrame::place() const {
  return line == 0 ? file : fmt::format("{}:{}", file, line);
}

std::string ShownFrame::shown_place() const {
  if (inlined) {
    return source.empty() ? "(inlined)" : source + " (inlined)";
  }
  const std::string text = source.empty() ? place() : source;
  return !heuristic ? text : text.empty() ? "(guessed)" : text + " (guessed)";
}

bool FrameModel::is_inlined(FrameId id) const {
  const Frame& frame = tables_.frame(id);
  return frame.kind == FrameKind::kNative && (frame.flags & snapshot::kInlined) != 0;
}

std::vector<FrameId> FrameModel::called_frames(const ThreadSample& sample) const {
  std::vector<FrameId> frames = all_frames(sample);
  std::erase_if(frames, [this](FrameId id) { return is_inlined(id); });
  return frames;
}

std::vector<FrameId> FrameModel::all_frames(const ThreadSample& sample) const {
  std::vector<FrameId> frames;
  for (const StackId id : {sample.stack, sample.python_stack}) {
    if (tables_.stacks().contains(id)) {
      const auto& more = tables_.stack(id).frames;
      frames.insert(frames.end(), more.begin(), more.end());
    }
  }
  std::erase_if(frames, [this](FrameId id) { return !tables_.frames().contains(id); });
  return frames;
}

std::vector<FrameId> FrameModel::all_frames(const ThreadSample* sample) const {
  return sample == nullptr ? std::vector<FrameId>() : all_frames(*sample);
}

std::size_t FrameModel::frames_before_locals(const ThreadSample& sample) const {
  if (sample.python_stack == StackId{}) {
    return 0;
  }
  ThreadSample native = sample;
  native.python_stack = {};
  return all_frames(native).size();
}

const FrameModel::Known& FrameModel::known(FrameId id) {
  const auto [at, is_new] = known_.try_emplace(static_cast<std::uint32_t>(id));
  Known& entry = at->second;
  if (is_new) {
    const Frame& frame = tables_.frame(id);
    describe(id, frame, entry);
    const std::string_view file = file_in_patterns(frame.kind, tables_.text(frame.file));
    for (const FramePattern& pattern : frame_patterns()) {
      if (pattern.story != Story::kNone &&
          pattern.fits(frame.kind, file, entry.shown.name, entry.library)) {
        entry.stories.push_back(&pattern);
      }
    }
  }
  return entry;
}

void FrameModel::describe(FrameId id, const Frame& frame, Known& entry) const {
  ShownFrame& shown = entry.shown;
  shown.kind = frame.kind;
  shown.id = id;
  if (frame.kind != FrameKind::kPython) {
    describe_native(frame, entry);
    return;
  }
  const std::string_view file = tables_.text(frame.file);
  const std::string_view function = tables_.text(frame.function);
  shown.line = frame.line;
  shown.name = function.empty() ? "?" : printable(function, kMaxName);
  shown.file = printable(short_file(file));
  shown.user = is_users(file);
  entry.role = role_of(frame, shown.name, file, entry.library);
}

void FrameModel::describe_native(const Frame& frame, Known& entry) const {
  const std::string_view file = tables_.text(frame.file);
  const std::string_view function = tables_.text(frame.function);
  ShownFrame& shown = entry.shown;
  entry.library = snapshot::library_of(file);
  shown.name = printable(short_name(function), kMaxName);
  shown.file = printable(base_name(file));
  shown.inlined = (frame.flags & snapshot::kInlined) != 0;
  shown.heuristic = (frame.flags & snapshot::kHeuristic) != 0;
  shown.signal = (frame.flags & snapshot::kSignalFrame) != 0;
  if (shown.signal) {
    // Captures of older versions have the name of libc's trampoline.
    shown.name =
        function.starts_with('<') ? printable(function, kMaxName) : "<signal delivered here>";
    shown.file.clear();
    entry.role = FrameRole::kKey;
    return;
  }
  if (const std::string_view source = tables_.text(frame.source); !source.empty()) {
    shown.source = printable(short_file(source));
    shown.source += frame.line == 0 ? "" : fmt::format(":{}", frame.line);
  }
  entry.role = role_of(frame, shown.name, file, entry.library);
  entry.users = is_users_module(file);
  if (demangle_cython(function)) {
    entry.role = FrameRole::kKey;  // the user's program, or a library's, as if it were Python
    entry.joins = true;  // for some functions it makes two: what Python calls, and the code
  }
  if (shown.name.empty() && file.empty()) {
    // The address differs from process to process, so it is no part of the place.
    shown.name = kRunTimeCode;
    shown.source = fmt::format("{:#x}", frame.offset);
    entry.joins = true;
    entry.unknown = true;
  } else if (shown.name.empty()) {
    shown.name = fmt::format("{}+{:#x}", shown.file, frame.offset);
    entry.unknown = entry.role == FrameRole::kPlain;
    entry.role = entry.unknown ? FrameRole::kInternal : entry.role;
  } else if (entry.role == FrameRole::kLibc) {
    shown.name = libc_name(shown.name);
    shown.system_call = true;
  }
}

ShownFrame FrameModel::shown(FrameId id) {
  return known(id).shown;
}

std::size_t FrameModel::add_call(const std::vector<FrameId>& frames,
                                 std::size_t at,
                                 FoldedStack& folded) {
  const ShownFrame* call = nullptr;
  for (; at < frames.size() && known(frames[at]).role == FrameRole::kLibc; ++at) {
    const ShownFrame& shown = known(frames[at]).shown;
    call = shown.system_call ? &shown : call;
  }
  if (call != nullptr) {
    folded.frames.push_back(*call);
  }
  return at;
}

FoldedStack FrameModel::fold_frames(const std::vector<FrameId>& frames) {
  FoldedStack folded;
  const auto is_python = [this](FrameId id) {
    return tables_.frame(id).kind == FrameKind::kPython;
  };
  const auto first_python =
      static_cast<std::size_t>(std::ranges::find_if(frames, is_python) - frames.begin());
  const bool has_python = first_python < frames.size();
  bool python_kept = false;
  for (std::size_t at = add_call(frames, 0, folded); at < frames.size(); ++at) {
    const Known& entry = known(frames[at]);
    // Without Python, frames without names are shown only if there are no others.
    const bool plain = entry.role == FrameRole::kPlain && (has_python || !entry.unknown);
    const bool keep =
        entry.role == FrameRole::kKey ||
        (plain && (at <= first_python || entry.users || entry.shown.kind == FrameKind::kPython));
    const bool twice = entry.joins && !folded.frames.empty() &&
                       folded.frames.back().name == entry.shown.name &&
                       folded.frames.back().kind == entry.shown.kind;
    if (keep && !twice) {
      folded.frames.push_back(entry.shown);
      python_kept = python_kept || entry.shown.kind == FrameKind::kPython;
    }
    if (entry.shown.signal) {  // the call that was interrupted
      at = add_call(frames, at + 1, folded) - 1;
    }
  }
  // A stack that holds nothing but internals is shown, not left out.
  if ((has_python && !python_kept) || folded.frames.empty()) {
    for (const FrameId id : frames) {
      const Known& entry = known(id);
      if (has_python ? is_python(id) : entry.role != FrameRole::kThreadStart) {
        folded.frames.push_back(entry.shown);
      }
    }
  }
  folded.hidden = frames.size() - std::min(frames.size(), folded.frames.size());
  for (const ShownFrame& frame : folded.frames) {
    if (!frame.system_call) {
      folded.key += fmt::format("{}|{}|{}\n", frame.name, frame.file, frame.line);
    }
  }
  if (folded.key.empty() && !folded.frames.empty()) {
    folded.key = folded.frames.front().name;
  }
  return folded;
}

Reach FrameModel::reach(const ThreadSample& sample) const {
  if (!tables_.stacks().contains(sample.stack)) {
    return Reach::kWhole;
  }
  const snapshot::Stack& stack = tables_.stack(sample.stack);
  switch (stack.end) {
    case snapshot::StackEnd::kRunningTorn:
    case snapshot::StackEnd::kGone:
      return Reach::kNothing;
    case snapshot::StackEnd::kRunning:
    case snapshot::StackEnd::kTorn:
    case snapshot::StackEnd::kBadMemory:
      return Reach::kPython;
    default:
      return stack.merge == snapshot::MergeState::kPythonOnly ? Reach::kPython : Reach::kWhole;
  }
}

std::string FrameModel::place(const ThreadSample& sample, Reach reach) {
  std::string key;
  if (reach == Reach::kWhole) {
    key = fold(sample).key;
  } else if (reach == Reach::kPython) {
    for (const ShownFrame& frame : fold(sample).frames) {
      if (frame.kind == FrameKind::kPython) {
        key += fmt::format("{}|{}|{}\n", frame.name, frame.file, frame.line);
      }
    }
  }
  return key;
}

const FoldedStack& FrameModel::fold(const ThreadSample& sample) {
  const auto [at, is_new] = folded_.try_emplace({sample.stack, sample.python_stack});
  if (is_new) {
    at->second = fold_frames(called_frames(sample));
  }
  return at->second;
}

FoldedStack FrameModel::fold_with_inlined(const ThreadSample& sample) {
  FoldedStack folded = fold(sample);
  const std::vector<FrameId> all = all_frames(sample);
  std::vector<ShownFrame> frames;
  std::size_t next = 0;
  for (const ShownFrame& frame : folded.frames) {
    std::vector<ShownFrame> inlined;  // into the current frame, or into one that is not shown
    for (; next < all.size() && all[next] != frame.id; ++next) {
      if (is_inlined(all[next])) {
        inlined.push_back(known(all[next]).shown);
      } else {
        inlined.clear();
      }
    }
    next += next < all.size() ? 1U : 0U;
    if (!frame.system_call) {
      frames.insert(frames.end(), inlined.begin(), inlined.end());
    }
    frames.push_back(frame);
  }
  folded.frames = std::move(frames);
  return folded;
}

std::optional<ShownFrame> FrameModel::user_frame(const ThreadSample& sample) {
  std::optional<ShownFrame> innermost;
  for (const FrameId id : all_frames(sample)) {
    const ShownFrame& frame = known(id).shown;
    if (frame.user) {
      return frame;
    }
    if (frame.kind == FrameKind::kPython && !innermost) {
      innermost = frame;
    }
  }
  return innermost;
}

std::string FrameModel::user_place(const ThreadSample* sample, std::string_view before) {
  const auto frame = user_frame(sample);
  return frame ? fmt::format("{}{} ({})", before, frame->name, frame->place()) : std::string();
}

std::optional<FrameId> FrameModel::python_frame(const ThreadSample* sample) const {
  const std::vector<FrameId> frames = all_frames(sample);
  const auto at = std::ranges::find_if(
      frames, [this](FrameId id) { return tables_.frame(id).kind == FrameKind::kPython; });
  return at == frames.end() ? std::nullopt : std::optional(*at);
}

}  // namespace oddrank::aggregate

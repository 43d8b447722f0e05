// Names are from CPython's Lib/queue.py and Lib/threading.py, the same in 3.8 to 3.15.
#include "waits/python/object_providers.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cpython/locals.h"
#include "cpython/objects/attributes.h"

namespace oddrank::waits {
namespace {

using attach::Addr;
using cpython::PythonSample;
using cpython::RawFrame;
using cpython::SampledThread;

constexpr std::size_t kMaxWaitDepth = 4;        // frames of the library, from the innermost on
constexpr std::size_t kMaxSearchedFrames = 32;  // of one thread
constexpr std::size_t kMaxOwners = 256;         // objects whose attributes are read, of one search
constexpr std::array<std::string_view, 5> kWaitingMethods = {"get", "put", "wait", "wait_for",
                                                             "acquire"};

bool is_waiting_frame(PythonSample& python, const RawFrame& frame) {
  const cpython::CodeObject& code = python.code(frame);
  if (!code.readable ||
      !(code.file.ends_with("/queue.py") || code.file.ends_with("/threading.py"))) {
    return false;
  }
  const std::string_view name =
      std::string_view(code.function).substr(code.function.rfind('.') + 1);
  return std::find(kWaitingMethods.begin(), kWaitingMethods.end(), name) != kWaitingMethods.end();
}

// Returns the object whose method the program called and waits in; null if there is none.
Addr awaited_object(PythonSample& python, FrameValues& values, const SampledThread& thread) {
  Addr object{};
  for (std::size_t i = 0; i < std::min(thread.frames.size(), kMaxWaitDepth); ++i) {
    if (!is_waiting_frame(python, thread.frames[i])) {
      break;
    }
    object = values.self(thread.frames[i]);
  }
  return object;
}

// How closely a thread's frames are connected with an object. Code may name a global, or have a
// variable that leads to the object, without using it now: only the threads with the closest
// connection count.
enum class Nearness : std::uint8_t {
  kNone,
  kNamesGlobal,   // its code names a global that has it, or an attribute of one
  kHasOwner,      // a variable has an object of which it is an attribute
  kHasOrNamesIt,  // a variable has it, or the attribute is named by the code of that frame
};

class ObjectSearch {
 public:
  ObjectSearch(PythonSample& python, Addr wanted) : python_(python), wanted_(wanted) {}

  Nearness nearness(const SampledThread& thread);

 private:
  // Returns the connection through `owner`, of which the wanted object may be an attribute.
  Nearness by_attribute(const RawFrame& frame, Addr owner);
  bool names_global(const RawFrame& frame);

  PythonSample& python_;
  Addr wanted_;
  std::size_t budget_ = kMaxOwners;
  std::unordered_map<std::uint64_t, bool> global_in_code_;  // hundreds of threads run the same code
};

Nearness ObjectSearch::nearness(const SampledThread& thread) {
  const auto frames =
      std::span(thread.frames).first(std::min(thread.frames.size(), kMaxSearchedFrames));
  std::vector<std::pair<const RawFrame*, Addr>> owners;
  for (const RawFrame& frame : frames) {
    for (const Addr value : cpython::read_local_values(python_.memory(), frame)) {
      if (value == wanted_) {
        return Nearness::kHasOrNamesIt;
      }
      owners.emplace_back(&frame, value);
    }
  }
  Nearness nearest = Nearness::kNone;
  for (const auto& [frame, owner] : owners) {
    nearest = std::max(nearest, by_attribute(*frame, owner));
    if (nearest == Nearness::kHasOrNamesIt) {
      return nearest;
    }
  }
  const bool named =
      nearest == Nearness::kNone &&
      std::ranges::any_of(frames, [this](const auto& it) { return names_global(it); });
  return named ? Nearness::kNamesGlobal : nearest;
}

bool ObjectSearch::names_global(const RawFrame& frame) {
  const auto [at, is_new] = global_in_code_.try_emplace(value_of(frame.code));
  if (is_new) {
    const auto globals = cpython::read_named_globals(python_.memory(), frame);
    at->second = std::ranges::any_of(globals, [&](Addr value) {
      return value == wanted_ || by_attribute(frame, value) == Nearness::kHasOrNamesIt;
    });
  }
  return at->second;
}

Nearness ObjectSearch::by_attribute(const RawFrame& frame, Addr owner) {
  if (budget_ == 0) {
    return Nearness::kNone;
  }
  --budget_;
  const auto items = cpython::read_attributes(python_.memory(), owner);
  const auto item = std::ranges::find(items, wanted_, &cpython::DictItem::value);
  if (item == items.end()) {
    return Nearness::kNone;
  }
  const auto names = cpython::read_code_names(python_.memory(), frame);
  return std::ranges::find(names, item->key) == names.end() ? Nearness::kHasOwner
                                                            : Nearness::kHasOrNamesIt;
}

}  // namespace

Addr ObjectProviders::awaited(const SampledThread& thread) {
  const auto [at, is_new] = awaited_.try_emplace(&thread);
  if (is_new) {
    at->second = awaited_object(python_, values_, thread);
  }
  return at->second;
}

const SampledThread* ObjectProviders::find(const SampledThread& waiter) {
  const Addr object = awaited(waiter);
  return object == Addr{} ? nullptr : find(waiter, object);
}

const SampledThread* ObjectProviders::find(const SampledThread& waiter, Addr object) {
  if (python_.threads().size() > kMaxSearchedThreads) {
    return nullptr;
  }
  Nearness nearest = Nearness::kNone;
  const SampledThread* provider = nullptr;
  ObjectSearch search(python_, object);
  for (const SampledThread& thread : python_.threads()) {
    if (&thread == &waiter || awaited(thread) == object) {
      continue;
    }
    const Nearness nearness = search.nearness(thread);
    if (nearness >= nearest) {
      provider = nearness > nearest ? &thread : nullptr;
      nearest = nearness;
    }
  }
  return provider;
}

bool ObjectProviders::has_at_hand(const SampledThread& thread, Addr object) {
  return ObjectSearch(python_, object).nearness(thread) != Nearness::kNone;
}

}  // namespace oddrank::waits

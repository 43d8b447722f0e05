// Names are those of CPython's Lib/queue.py and Lib/threading.py, the same in 3.8 to 3.15.
#include "waits/python/object_providers.h"

#include <algorithm>
#include <array>
#include <string_view>
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

class ObjectSearch {
 public:
  ObjectSearch(PythonSample& python, Addr wanted) : python_(python), wanted_(wanted) {}

  bool has(const SampledThread& thread);

 private:
  bool has_attribute(Addr owner);

  PythonSample& python_;
  Addr wanted_;
  std::size_t budget_ = kMaxOwners;
};

bool ObjectSearch::has(const SampledThread& thread) {
  std::vector<Addr> owners;
  for (std::size_t i = 0; i < std::min(thread.frames.size(), kMaxSearchedFrames); ++i) {
    for (const Addr value : cpython::read_local_values(python_.memory(), thread.frames[i])) {
      if (value == wanted_) {
        return true;
      }
      owners.push_back(value);
    }
  }
  return std::any_of(owners.begin(), owners.end(),
                     [this](Addr owner) { return has_attribute(owner); });
}

bool ObjectSearch::has_attribute(Addr owner) {
  if (budget_ == 0) {
    return false;
  }
  --budget_;
  const auto items = cpython::read_attributes(python_.memory(), owner);
  return std::any_of(items.begin(), items.end(),
                     [this](const auto& item) { return item.value == wanted_; });
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
  const SampledThread* provider = nullptr;
  ObjectSearch search(python_, object);
  for (const SampledThread& thread : python_.threads()) {
    if (&thread == &waiter || awaited(thread) == object || !search.has(thread)) {
      continue;
    }
    if (provider != nullptr) {
      return nullptr;
    }
    provider = &thread;
  }
  return provider;
}

}  // namespace oddrank::waits

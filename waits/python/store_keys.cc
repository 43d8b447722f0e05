// Sources: torch/csrc/distributed/c10d/init.cpp of torch 2.4 to 2.15 (methods of Store, which all
// wait for a key or for an answer about one); torch/csrc/distributed/c10d/Store.hpp.
#include "waits/python/store_keys.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "base/secrets/mask_secrets.h"
#include "cpython/bytecode/code_analysis.h"
#include "cpython/bytecode/current_call.h"
#include "cpython/bytecode/symbol_values.h"
#include "cpython/objects/types.h"

namespace oddrank::waits {
namespace {

using attach::ThreadState;
using cpython::PythonSample;

// Methods that return once a process has set the key, or that check whether one has.
constexpr std::array<std::string_view, 6> kAskingMethods = {"wait",  "get",         "multi_get",
                                                            "check", "compare_set", "queue_pop"};

bool asks_for_key(const std::string& name) {
  return std::find(kAskingMethods.begin(), kAskingMethods.end(), name) != kAskingMethods.end();
}

// TCPStore, FileStore, HashStore, PrefixStore, and stores that programs derive from them.
bool is_store(cpython::PythonMemory& memory, attach::Addr object) {
  return object != attach::Addr{} && cpython::type_name(memory, object).ends_with("Store");
}

std::string key_of(PythonSample& python,
                   cpython::CodeAnalysis& analysis,
                   const cpython::RawFrame& frame) {
  const auto call =
      cpython::read_current_call(python.memory(), analysis, python.code(frame), frame);
  if (!call || call->arguments.empty() || !asks_for_key(call->name) ||
      !is_store(python.memory(), call->self)) {
    return {};
  }
  return mask_text(cpython::object_text(python.memory(), call->arguments.front()));
}

}  // namespace

void read_store_keys(PythonWaits& all) {
  cpython::CodeAnalysis analysis(all.python.memory());
  for (std::size_t i = 0; i < all.waits.size(); ++i) {
    const auto* thread = all.thread(i);
    if (thread != nullptr && !thread->frames.empty()) {
      all.waits[i].key = key_of(all.python, analysis, thread->frames.front());
    }
  }
}

}  // namespace oddrank::waits

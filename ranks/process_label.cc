#include "ranks/process_label.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/base_name.h"
#include "ranks/process_role.h"

namespace oddrank::ranks {
namespace {

constexpr std::size_t kMaxKernelName = 15;  // TASK_COMM_LEN, less its end

struct Title {
  std::string_view product;  // "ray"
  std::string_view name;     // "Rollout.sample"; empty if it is no title
};

// Parses a title of the form PRODUCT::NAME; the rest of the arguments' memory may hold anything.
Title title_of(std::span<const std::string> arguments) {
  constexpr std::string_view kBetween = "::";
  const std::string_view text = arguments.empty() ? "" : std::string_view(arguments.front());
  const std::size_t at = text.find(kBetween);
  if (at == 0 || at == std::string_view::npos ||
      text.substr(0, at).find_first_of("/ ") != text.npos) {
    return {};
  }
  std::string_view name = text.substr(at + kBetween.size());
  name = name.substr(0, name.find_last_not_of(' ') + 1);
  return {text.substr(0, at), name};
}

// Returns the name of a program. One file may be several programs by its names (busybox, a server
// that is also its own checker): it is the one as which it was called, if the kernel's name for the
// process, which begins as that and is cut, agrees. Else a process may have rewritten its
// arguments.
std::string_view program_name(std::string_view called,
                              std::string_view executable,
                              std::string_view name) {
  const std::string_view as = base_name(called.substr(0, called.find(' ')));
  const bool agree = !name.empty() && as.substr(0, kMaxKernelName) == name;
  return agree || executable.empty() ? as : base_name(executable);
}

}  // namespace

std::string label_of(std::span<const std::string> arguments,
                     const std::string& executable,
                     std::string_view name) {
  if (arguments.empty()) {
    return {};
  }
  if (const Title title = title_of(arguments); !title.name.empty()) {
    return std::string(title.name);
  }
  if (!is_python(arguments)) {
    return std::string(program_name(arguments.front(), executable, name));
  }
  const std::string_view script = script_of(arguments);
  const std::string_view module = module_of(arguments);
  return std::string(script.empty() ? module.substr(module.rfind('.') + 1) : base_name(script));
}

snapshot::JobRole role_of_title(std::span<const std::string> arguments) {
  using enum snapshot::JobRole;
  struct Word {
    std::string_view text;
    snapshot::JobRole role;
  };
  constexpr auto kWords = std::to_array<Word>({{"Coordinator", kService},
                                               {"Agent", kService},
                                               {"Monitor", kService},
                                               {"Engine", kEngine},
                                               {"Scheduler", kEngine},
                                               {"scheduler", kEngine},
                                               {"Worker", kWorker},
                                               {"worker", kWorker},
                                               {"Server", kServer},
                                               {"server", kServer}});
  const Title title = title_of(arguments);
  const auto known = std::find_if(kWords.begin(), kWords.end(), [&title](const Word& word) {
    return title.name.find(word.text) != std::string_view::npos;
  });
  if (known != kWords.end()) {
    return known->role;
  }
  return title.product == "ray" ? kActor : kUnknown;
}

bool has_title(std::span<const std::string> arguments) {
  return !title_of(arguments).product.empty();
}

}  // namespace oddrank::ranks

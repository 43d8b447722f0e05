#include "ranks/process_role.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/base_name.h"

namespace oddrank::ranks {
namespace {

struct KnownProgram {
  std::string_view name;
  ProcessRole role;
};

using enum ProcessRole;

constexpr std::array<KnownProgram, 86> kPrograms = {{
    {"bash", kShell},
    {"sh", kShell},
    {"dash", kShell},
    {"zsh", kShell},
    {"ksh", kShell},
    {"fish", kShell},
    {"ash", kShell},
    {"tcsh", kShell},
    {"csh", kShell},
    {"rbash", kShell},
    {"busybox", kShell},
    {"slurm_script", kShell},
    {"srun", kLauncher},
    {"sbatch", kLauncher},
    {"salloc", kLauncher},
    {"slurmstepd", kLauncher},
    {"slurmd", kLauncher},
    {"mpirun", kLauncher},
    {"mpiexec", kLauncher},
    {"mpiexec.hydra", kLauncher},
    {"orted", kLauncher},
    {"orterun", kLauncher},
    {"prte", kLauncher},
    {"prted", kLauncher},
    {"prterun", kLauncher},
    {"hydra_pmi_proxy", kLauncher},
    {"hydra_bstrap_proxy", kLauncher},
    {"flux", kLauncher},
    {"flux-shell", kLauncher},
    {"aprun", kLauncher},
    {"jsrun", kLauncher},
    {"palsd", kLauncher},
    {"timeout", kLauncher},
    {"env", kLauncher},
    {"nohup", kLauncher},
    {"nice", kLauncher},
    {"setsid", kLauncher},
    {"numactl", kLauncher},
    {"taskset", kLauncher},
    {"chrt", kLauncher},
    {"stdbuf", kLauncher},
    {"time", kLauncher},
    {"xargs", kLauncher},
    {"parallel", kLauncher},
    {"flock", kLauncher},
    {"unshare", kLauncher},
    {"nsenter", kLauncher},
    {"sudo", kLauncher},
    {"su", kLauncher},
    {"runuser", kLauncher},
    {"setpriv", kLauncher},
    {"script", kLauncher},
    {"ssh", kLauncher},
    {"sshd", kLauncher},
    {"pdsh", kLauncher},
    {"tini", kLauncher},
    {"dumb-init", kLauncher},
    {"docker-init", kLauncher},
    {"catatonit", kLauncher},
    {"conmon", kLauncher},
    {"runc", kLauncher},
    {"crun", kLauncher},
    {"singularity", kLauncher},
    {"apptainer", kLauncher},
    {"starter", kLauncher},
    {"starter-suid", kLauncher},
    {"enroot", kLauncher},
    {"screen", kLauncher},
    {"tmux", kLauncher},
    {"nsys", kLauncher},
    {"nsys-launcher", kLauncher},
    {"ncu", kLauncher},
    {"strace", kLauncher},
    {"ltrace", kLauncher},
    {"perf", kLauncher},
    {"torchrun", kRankLauncher},
    {"deepspeed", kRankLauncher},
    {"horovodrun", kRankLauncher},
    {"py-spy", kAgent},
    {"gdb", kAgent},
    {"gdbserver", kAgent},
    {"eu-stack", kAgent},
    {"tee", kUtility},
    {"cat", kUtility},
    {"tail", kUtility},
    {"grep", kUtility},
}};

// Modules that start ranks, with everything below them: "torch.distributed.run".
constexpr std::array<std::string_view, 9> kLauncherModules = {"torch.distributed.run",
                                                              "torch.distributed.launch",
                                                              "torch.distributed.elastic",
                                                              "accelerate.commands",
                                                              "deepspeed.launcher",
                                                              "horovod.runner",
                                                              "torch_xla.distributed.xla_dist",
                                                              "torchelastic.distributed.launch",
                                                              "accelerate"};

bool is_python_name(std::string_view name) {
  if (name.substr(0, 4) == "pypy") {
    return true;
  }
  if (name.substr(0, 6) != "python") {
    return false;
  }
  // "python", "python3", "python3.11", "python3.13t", "python3-dbg"; not "python_server".
  return name.find('_') == std::string_view::npos;
}

// Returns whether it is one of ours, and not another program of that name: it runs a command of
// ours, or is a watcher, which has the arguments of the command beside it.
bool is_ours(std::string_view program,
             std::string_view name,
             std::span<const std::string> arguments) {
  constexpr auto kOurCommands = std::to_array<std::string_view>(
      {"agent", "node", "job", "hosts", "kube", "core", "report", "watch", "fr", "doctor", "demo",
       "man", "completion", "complete"});
  if (!program.starts_with("oddrank") && !name.starts_with("oddrank")) {
    return false;
  }
  const std::string_view word = arguments.size() < 2 ? "" : std::string_view(arguments[1]);
  return word.empty() || word.front() == '-' || name == "oddrank-watch" ||
         std::find(kOurCommands.begin(), kOurCommands.end(), word) != kOurCommands.end();
}

ProcessRole role_of_name(std::string_view name) {
  if (name.substr(0, 1) == "-") {  // a login shell
    name.remove_prefix(1);
  }
  const auto found = std::find_if(kPrograms.begin(), kPrograms.end(),
                                  [name](const auto& known) { return known.name == name; });
  return found == kPrograms.end() ? kProgram : found->role;
}

struct PythonRun {
  std::string_view module;  // of -m
  std::string_view script;
  std::size_t rest = 0;   // index of the first argument after it
  std::string_view code;  // of -c
};

// Returns what an interpreter was told to run. Parses options as CPython does: one letter each, of
// which -c, -m, -W and -X take the rest of the word or the next word.
PythonRun python_run(std::span<const std::string> arguments) {
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string_view word = arguments[i];
    if (word.size() < 2 || word[0] != '-') {
      return {{}, word, i + 1, {}};
    }
    if (word.substr(0, 2) == "--") {
      i += word == "--check-hash-based-pycs" ? 1 : 0;
      continue;
    }
    const auto taking = word.find_first_of("cmWX", 1);
    if (taking == std::string_view::npos) {
      continue;
    }
    const bool in_word = taking + 1 < word.size();
    if (word[taking] == 'c') {
      std::string_view code = word.substr(taking + 1);
      if (!in_word && i + 1 < arguments.size()) {
        code = arguments[i + 1];
      }
      return {{}, {}, i + 1, code};
    }
    if (word[taking] == 'm') {
      const std::size_t at = in_word ? i : i + 1;
      if (at >= arguments.size()) {
        return {};
      }
      return {in_word ? word.substr(taking + 1) : std::string_view(arguments[at]), {}, at + 1, {}};
    }
    i += in_word ? 0 : 1;
  }
  return {};
}

// Recognises the process that multiprocessing starts to clean up after a program; CPython 3.4 to
// 3.14 use this code.
bool is_resource_tracker(std::string_view code) {
  return code.starts_with("from multiprocessing.resource_tracker import main") ||
         code.starts_with("from multiprocessing.semaphore_tracker import main");
}

bool is_launcher_module(std::string_view module) {
  return std::any_of(kLauncherModules.begin(), kLauncherModules.end(), [module](auto known) {
    return module == known ||
           (module.size() > known.size() && module.substr(0, known.size()) == known &&
            module[known.size()] == '.');
  });
}

// Scripts that pip installs are run by the interpreter: "python /venv/bin/torchrun".
ProcessRole role_of_script(std::string_view script, std::span<const std::string> rest) {
  const std::string_view name = base_name(script);
  if (name == "torchrun" || name == "accelerate-launch" || name == "deepspeed" ||
      name == "deepspeed.pt" || name == "ds" || name == "horovodrun") {
    return kRankLauncher;
  }
  if (name == "accelerate" || name == "colossalai") {
    const bool launches = !rest.empty() && (rest.front() == "launch" || rest.front() == "run");
    return launches ? kRankLauncher : kProgram;
  }
  // ".../site-packages/torch/distributed/run.py", run by its path.
  for (const std::string_view path :
       {"torch/distributed/run.py", "torch/distributed/launch.py", "deepspeed/launcher/launch.py",
        "deepspeed/launcher/runner.py", "accelerate/commands/launch.py"}) {
    if (script.size() > path.size() && script.substr(script.size() - path.size()) == path) {
      return kRankLauncher;
    }
  }
  return kProgram;
}

}  // namespace

// The code is multiprocessing/spawn.py's and forkserver.py's own, CPython 3.4 to 3.14.
bool is_multiprocessing_child(std::span<const std::string> arguments) {
  if (!is_python(arguments)) {
    return false;
  }
  const std::string_view code = python_run(arguments).code;
  return code.starts_with("from multiprocessing.spawn import spawn_main") ||
         code.starts_with("from multiprocessing.forkserver import main");
}

bool adopts_orphans(std::string_view name) {
  constexpr std::array<std::string_view, 8> kAdopters = {
      "systemd", "init", "slurmstepd", "tini", "dumb-init", "docker-init", "catatonit", "conmon"};
  return std::find(kAdopters.begin(), kAdopters.end(), name) != kAdopters.end();
}

bool is_python(std::span<const std::string> arguments) {
  return !arguments.empty() && is_python_name(base_name(arguments.front()));
}

std::string_view script_of(std::span<const std::string> arguments) {
  return is_python(arguments) ? python_run(arguments).script : std::string_view();
}

std::string_view module_of(std::span<const std::string> arguments) {
  return is_python(arguments) ? python_run(arguments).module : std::string_view();
}

ProcessRole role_of(std::span<const std::string> arguments, std::string_view name) {
  if (arguments.empty()) {
    return is_ours(name, name, arguments) ? kAgent : role_of_name(name);
  }
  // "Apptainer runtime parent", "slurmstepd: [4711.0]": titles that programs give themselves.
  const std::string_view title = arguments.front();
  const std::string_view program = base_name(title.substr(0, title.find_first_of(": ")));
  if (program == "Apptainer" || program == "Singularity") {
    return kLauncher;
  }
  if (is_ours(program, name, arguments) || role_of_name(name) == kAgent) {
    return kAgent;
  }
  if (!is_python_name(program)) {
    const ProcessRole role = role_of_name(program);
    return role == kProgram ? role_of_script(title, arguments.subspan(1)) : role;
  }
  const PythonRun run = python_run(arguments);
  if (!run.module.empty()) {
    return is_launcher_module(run.module) ? kRankLauncher : kProgram;
  }
  if (is_resource_tracker(run.code)) {
    return kUtility;
  }
  return run.script.empty() ? kProgram : role_of_script(run.script, arguments.subspan(run.rest));
}

}  // namespace oddrank::ranks

// The role of a process by its command line: the program itself, or one that starts, wraps or
// examines programs and is therefore not a rank.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace oddrank::ranks {

enum class ProcessRole : std::uint8_t {
  kProgram = 0,
  kShell,         // bash, sh: may carry a rank's variables, is never the rank
  kLauncher,      // srun, mpirun, timeout, a container's init: passes variables on
  kRankLauncher,  // torchrun, accelerate, deepspeed: its own variables are not its children's
  kAgent,         // oddrank, py-spy, gdb: examines ranks
  kUtility,       // tee, cat, tail: runs beside the rank in a pipeline
};

// Returns the role. `name`: comm, used if there are no arguments (a zombie).
ProcessRole role_of(std::span<const std::string> arguments, std::string_view name);

// Returns whether it is a worker that multiprocessing has started with a new interpreter (start
// methods "spawn" and "forkserver").
bool is_multiprocessing_child(std::span<const std::string> arguments);

// Returns whether the kernel makes orphans children of a process with this comm: an init, or
// SLURM's step.
bool adopts_orphans(std::string_view name);

// Returns true for a Python interpreter with any arguments: "python3.11", "/venv/bin/python".
bool is_python(std::span<const std::string> arguments);

// Returns the file that a Python interpreter runs: "train.py", "/home/x/train.py". Empty if the
// program is not an interpreter, or it runs a module (-m) or code (-c).
std::string_view script_of(std::span<const std::string> arguments);

// Returns the module that a Python interpreter runs: "torch.distributed.run". Empty if the program
// is not an interpreter, or it runs a script or code.
std::string_view module_of(std::span<const std::string> arguments);

}  // namespace oddrank::ranks

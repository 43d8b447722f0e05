#include "snapshot/loops/call_names.h"

#include <algorithm>
#include <array>

namespace oddrank::snapshot {
namespace {

constexpr auto kRests = std::to_array<std::string_view>(
    {"sleep", "wait", "join", "select", "pause", "sched_yield", "nanosleep", "usleep"});

constexpr auto kIdleNames = std::to_array<std::string_view>({
    "time",
    "time_ns",
    "monotonic",
    "monotonic_ns",
    "perf_counter",
    "perf_counter_ns",
    "now",
    "utcnow",
    "timedelta",
    "total_seconds",
    "ctime",
    "strftime",
    "localtime",
    "gmtime",
    "isoformat",
    "print",
    "write",
    "flush",
    "log",
    "debug",
    "info",
    "warning",
    "warn",
    "error",
    "critical",
    "exception",
    "getLogger",
    "len",
    "range",
    "enumerate",
    "zip",
    "reversed",
    "iter",
    "next",
    "min",
    "max",
    "abs",
    "round",
    "pow",
    "sum",
    "any",
    "all",
    "int",
    "float",
    "str",
    "bool",
    "bytes",
    "list",
    "tuple",
    "dict",
    "set",
    "sorted",
    "repr",
    "format",
    "isinstance",
    "getattr",
    "hasattr",
    "split",
    "strip",
    "rstrip",
    "lstrip",
    "startswith",
    "endswith",
    "lower",
    "upper",
    "replace",
    "encode",
    "decode",
    "append",
    "items",
    "keys",
    "values",
    "abspath",
    "basename",
    "dirname",
    "fspath",
    "joinpath",
    "Path",
    "with_suffix",
    "read",
    "close",
    "uniform",
    "random",
    "randint",
    "getpid",
    "gettid",
    "get_rank",
    "loads",
    "get_world_size",
    "gethostname",
    "getenv",
    "as_posix",
    "touch",
    "utime",
    "format_exc",
    "print_exc",
    "environ",
});

// raise TimeoutError(...)
bool makes_error(std::string_view name) {
  return name.ends_with("Error") || name.ends_with("Exception") || name == "SystemExit";
}

template <typename Names>
bool has_name(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

bool call_rests(std::string_view name) {
  return has_name(kRests, name);
}

bool call_is_idle(std::string_view name) {
  return has_name(kIdleNames, name) || makes_error(name);
}

}  // namespace oddrank::snapshot

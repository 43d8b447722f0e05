#include "cpython/layouts/offset_members.h"

#include <vector>

#include "base/split.h"

namespace oddrank::cpython {
namespace {

// Include/internal/pycore_debug_offsets.h; compared with 3.13.0 to 3.13.5.
constexpr std::string_view kMembersOf13 =
    "runtime size finalizing interpreters_head\n"
    "interpreter size id next threads_head gc imports_modules sysdict builtins ceval_gil"
    " gil_runtime_state gil_runtime_state_enabled gil_runtime_state_locked"
    " gil_runtime_state_holder\n"
    "thread size prev next interp current_frame thread_id native_thread_id datastack_chunk status\n"
    "frame size previous executable instr_ptr localsplus owner\n"
    "code size filename name qualname linetable firstlineno argcount localsplusnames"
    " localspluskinds co_code_adaptive\n"
    "object size ob_type\n"
    "type size tp_name tp_repr tp_flags\n"
    "tuple size ob_item ob_size\n"
    "list size ob_item ob_size\n"
    "dict size ma_keys ma_values\n"
    "float size ob_fval\n"
    "long size lv_tag ob_digit\n"
    "bytes size ob_size ob_sval\n"
    "unicode size state length asciiobject_size\n"
    "gc size collecting";

// Compared with 3.14.8.
constexpr std::string_view kMembersOf14 =
    "runtime size finalizing interpreters_head\n"
    "interpreter size id next threads_head threads_main gc imports_modules sysdict builtins"
    " ceval_gil gil_runtime_state gil_runtime_state_enabled gil_runtime_state_locked"
    " gil_runtime_state_holder code_object_generation tlbc_generation\n"
    "thread size prev next interp current_frame thread_id native_thread_id datastack_chunk status\n"
    "frame size previous executable instr_ptr localsplus owner stackpointer tlbc_index\n"
    "code size filename name qualname linetable firstlineno argcount localsplusnames"
    " localspluskinds co_code_adaptive co_tlbc\n"
    "object size ob_type\n"
    "type size tp_name tp_repr tp_flags\n"
    "tuple size ob_item ob_size\n"
    "list size ob_item ob_size\n"
    "set size used table mask\n"
    "dict size ma_keys ma_values\n"
    "float size ob_fval\n"
    "long size lv_tag ob_digit\n"
    "bytes size ob_size ob_sval\n"
    "unicode size state length asciiobject_size\n"
    "gc size collecting\n"
    "gen size gi_name gi_iframe gi_frame_state\n"
    "llist next prev\n"
    "debugger eval_breaker remote_debugger_support remote_debugging_enabled"
    " debugger_pending_call debugger_script_path debugger_script_path_size";

// Compared with 3.15.0.
constexpr std::string_view kMembersOf15 =
    "runtime size finalizing interpreters_head\n"
    "interpreter size id next threads_head threads_main gc imports_modules sysdict builtins"
    " ceval_gil gil_runtime_state gil_runtime_state_enabled gil_runtime_state_locked"
    " gil_runtime_state_holder code_object_generation tlbc_generation\n"
    "thread size prev next interp current_frame base_frame last_profiled_frame"
    " last_profiled_frame_seq thread_id native_thread_id datastack_chunk status holds_gil"
    " gil_requested current_exception exc_state\n"
    "err_stackitem exc_value\n"
    "frame size previous executable instr_ptr localsplus owner stackpointer tlbc_index\n"
    "code size filename name qualname linetable firstlineno argcount localsplusnames"
    " localspluskinds co_code_adaptive co_tlbc\n"
    "object size ob_type\n"
    "type size tp_name tp_repr tp_flags tp_basicsize tp_dictoffset\n"
    "heap_type size ht_cached_keys\n"
    "tuple size ob_item ob_size\n"
    "list size ob_item ob_size\n"
    "set size used table mask\n"
    "dict size ma_keys ma_values\n"
    "float size ob_fval\n"
    "long size lv_tag ob_digit\n"
    "bytes size ob_size ob_sval\n"
    "unicode size state length asciiobject_size compactunicodeobject_size\n"
    "gc size collecting frame generation_stats_size generation_stats\n"
    "gen size gi_name gi_iframe gi_frame_state\n"
    "llist next prev\n"
    "debugger eval_breaker remote_debugger_support remote_debugging_enabled"
    " debugger_pending_call debugger_script_path debugger_script_path_size";

}  // namespace

std::string_view offset_members(std::uint32_t minor) {
  switch (minor) {
    case 13:
      return kMembersOf13;
    case 14:
      return kMembersOf14;
    case 15:
      return kMembersOf15;
    default:
      return {};
  }
}

std::optional<std::size_t> member_index(std::string_view members, std::string_view name) {
  const auto dot = name.find('.');
  std::size_t index = 0;
  for (const std::string_view line : split(members, '\n')) {
    const auto words = split_blanks(line);
    const bool group = !words.empty() && words.front() == name.substr(0, dot);
    for (std::size_t i = 1; i < words.size(); ++i, ++index) {
      if (group && words[i] == name.substr(dot + 1)) {
        return index;
      }
    }
  }
  return std::nullopt;
}

std::size_t member_count(std::string_view members) {
  std::size_t count = 0;
  for (const std::string_view line : split(members, '\n')) {
    const auto words = split_blanks(line);
    count += words.empty() ? 0 : words.size() - 1;
  }
  return count;
}

}  // namespace oddrank::cpython

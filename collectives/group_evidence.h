// Decides whether a call of torch.distributed is on the default group of all ranks, by evidence in
// the locals of its frames.
//
// Most functions of torch.distributed replace a `group` of None by the default group before they
// wait, so their own frame no longer shows the caller's argument. From 2.0 on they run inside a
// logging wrapper, `wrapper(*args, **kwargs)` of c10d_logger.py, whose frame still does. So, in
// this order:
//  1. the function's own `group` is None (functions that never replace it; torch up to 2.x);
//  2. its `default_pg` is bound: it looks up the default group because `group` was None;
//  3. the wrapper's positional arguments pass None, or end before `group` and none of its keyword
//     arguments can be `group`.
// Everything else is unknown: a group object in `group` may be any group.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "collectives/call_frames.h"
#include "collectives/call_table.h"

namespace oddrank::collectives {

// Returns the evidence in a few words ("group=None", "called without a group", "which looks up the
// default group"); nullopt: unknown.
// `index` is the call's frame in `frames`.
std::optional<std::string> default_group_evidence(const CallFrames& frames,
                                                  std::size_t index,
                                                  const PythonCall& call);

// Returns how many values the text of a tuple, list or dict holds: "()" 0, "(<Tensor>,)" 1, "[1, 2,
// 3, 4,
// ... 6 items]" 6; nullopt for any other text. `values` gets those in the text.
std::optional<std::size_t> sequence_size(std::string_view text,
                                         std::vector<std::string_view>& values);

// Returns the values of such a text if it has all of them; else none.
std::vector<std::string_view> all_values(std::string_view text);

// Returns how many values the text of a dict or set stands for: 2 for "{'src': 0, 'dst': 1}", and
// for "<dict of 2>" if `kind` is "dict"; nullopt for any other text.
std::optional<std::size_t> braced_size(std::string_view text, std::string_view kind);

}  // namespace oddrank::collectives

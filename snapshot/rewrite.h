// Rewrites the texts of a whole capture: masks secrets before it leaves its node, and drops what
// identifies people and places before it leaves the house (--redact).
#pragma once

#include "snapshot/capture.h"

namespace oddrank::snapshot {

// Returns the capture with every text masked (base/secrets/mask_secrets.h) except the names and
// files of frames. Text that is already masked stays as it is.
Capture without_secrets(Capture capture);

// Returns the capture without what identifies people and places, for vendors: hosts, addresses and
// users are numbered ("host1", "198.18.0.1", "user1"), the same everywhere; so are the home parts
// of paths. Locals, text arguments of calls, the job's name and its user are dropped. Stacks, waits
// and counts stay. Limit: names of programs, functions, folders and data sets stay. `beside`:
// another capture that is redacted, too; both get the same numbers if they are from the same nodes.
Capture redacted(const Capture& capture, const Capture* beside = nullptr);

}  // namespace oddrank::snapshot

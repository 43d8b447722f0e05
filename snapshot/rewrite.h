// Rewrites the texts of a whole capture: masks secrets before it leaves its node, and drops what
// identifies people and places before it leaves the house (--redact).
//
// The names of hosts and people in a capture, and their replacements.
#pragma once

#include <map>
#include <string>
#include <string_view>

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

// Replaces whole words only: the host "n1" does not match "n12".
class Identities {
 public:
  // Ignore a name that is empty, or known already, or that every machine has ("localhost").
  void add_host(std::string_view name);
  void add_user(std::string_view name);
  // Numbers the addresses, the users in home parts of paths ("/home/ann/x"), the domains and users
  // of e-mail addresses, and the ids of users ("of user 1001", "/uid_1001/"), in a text.
  void add_from(std::string_view text);

  // Does all of that for a capture.
  void add_all_of(const Capture& capture);

  // Returns the text with every name replaced.
  std::string without(std::string_view text) const;

 private:
  using Names = std::map<std::string, std::string, std::less<>>;
  void add_address(std::string_view address);
  void add_mail(std::string_view text, std::size_t at);
  void add_interfaces(std::string_view names);

  Names names_;      // of hosts and users
  Names addresses_;  // without ports
  Names user_ids_;
  std::size_t hosts_ = 0;
  std::size_t users_ = 0;
  std::size_t interfaces_ = 0;
};

}  // namespace oddrank::snapshot

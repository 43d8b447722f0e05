// The names of hosts and people in a capture, and their replacements.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "snapshot/capture.h"

namespace oddrank::snapshot {

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

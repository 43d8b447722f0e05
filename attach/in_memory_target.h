// A view of a live target that reads only what is in memory now, for facts that are not worth
// waiting for a file: dropped pages of a mapped file would be read from the file again, which never
// ends on a file system that does not answer.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "attach/target.h"
#include "base/unique_fd.h"

namespace oddrank::attach {

class InMemoryTarget final : public Target {
 public:
  // Borrows the target, which must be live. Without /proc/PID/pagemap nothing is taken as resident.
  // `may_open`: which files may be opened nevertheless; none if empty.
  explicit InMemoryTarget(const Target& target, std::function<bool(const Mapping&)> may_open = {});

  pid_t pid() const override { return target_.pid(); }
  const std::string& name() const override { return target_.name(); }
  // Fail with kNotFound for bytes that are not in memory; read_many leaves those out.
  Status read(Addr address, std::span<std::byte> into) const override;
  void read_many(std::span<ReadRequest> requests) const override;
  const MemoryMap& maps() const override { return target_.maps(); }
  Result<UniqueFd> open_file(const Mapping& mapping) const override;
  Result<std::vector<ThreadState>> threads() const override { return target_.threads(); }
  Result<ThreadState> thread(pid_t tid) const override { return target_.thread(tid); }

 private:
  bool is_resident(Addr address, std::size_t size) const;

  const Target& target_;
  std::function<bool(const Mapping&)> may_open_;
  UniqueFd pages_;
};

}  // namespace oddrank::attach

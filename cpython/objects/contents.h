// The contents of Python objects as text, for `--locals`: dicts, lists and instances, to a depth.
// objects.h has the short form, which the diagnosis reads.
//
// Like repr(), as far as possible without running the target's code:
//   {'lr': 0.1, 'betas': (0.9, 0.95)} · OrderedDict({...}) · {1, 2} · deque([1]) · b'abc' ·
//   Point(x=1, y=2) (namedtuples, dataclasses) · <Color.RED: 1> (enums) · torch.Size([8, 128]) ·
//   <Tensor (2,) int64 cpu [3, 4]> · <Model> · <Model: layers=3> (attributes, from depth 3 on)
// Objects below the depth are <dict of 3>, <list of 12>. What does not fit ends with "...".
//
// Values under a secret's name (base/secrets/secret_names.h) are "***" at every depth ("<hidden>"
// if it is the variable's), and texts are masked (base/secrets/mask_secrets.h).
//
// How many levels of objects `--locals` shows (contents.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cpython/objects/dicts.h"
#include "cpython/objects/types.h"
#include "cpython/python_memory.h"

namespace oddrank::cpython {

inline constexpr unsigned kUsualContentsDepth = 2;
inline constexpr unsigned kMaxContentsDepth = 8;

struct ContentsOptions {
  // Levels of nesting: 1 shows the items of a dict, but not the items of lists in it. 0: the short
  // form, which the diagnosis reads (objects.h).
  unsigned depth = 0;
  bool addresses = false;  // "[1, 2]@0x7f31c0": which objects are the same one
};

enum class ContainerKind : std::uint8_t { kNone = 0, kTuple, kList, kDict, kSet, kDeque };

// Prints the variables of one sample of a process. They share one budget: after 4,000 system calls,
// or 50,000 objects, it prints the short form.
class ContentsPrinter {
 public:
  // `memory` must outlive the printer.
  ContentsPrinter(PythonMemory& memory, ContentsOptions options);

  // Returns the value of a variable with this name.
  std::string print(std::string_view name, Addr object);

 private:
  using Named = std::vector<std::pair<std::string, Addr>>;

  bool spent() const;
  // Fetches the objects and their types in a few system calls.
  void prefetch(const std::vector<Addr>& objects);

  std::string value(Addr object, unsigned level);
  // Returns the same without the address.
  std::string contents(Addr object, unsigned level);
  // Returns the same for a value with this name; hides secrets.
  std::string named(std::string_view name, Addr object, unsigned level);
  std::string scalar(Addr object, std::uint64_t flags, const std::string& type);
  std::string text(Addr object);
  std::string bytes(Addr object, bool is_array);
  std::string container(Addr object, std::uint64_t flags, const std::string& type, unsigned level);
  std::string instance(Addr object, const std::string& type, unsigned level);
  std::string items_of(ContainerKind kind,
                       Addr object,
                       std::uint64_t size,
                       std::string_view brackets,
                       unsigned level);
  std::string named_tuple(Addr object, std::uint64_t size, const ClassFacts& facts, unsigned level);
  std::string dict(Addr object, std::uint64_t count, unsigned level);
  std::string sequence(const std::vector<Addr>& items,
                       std::uint64_t count,
                       std::string_view brackets,
                       unsigned level);
  std::string fields(const Named& fields, unsigned level);
  std::string exception(Addr object, const std::string& type, unsigned level);
  std::string enum_member(Addr object, const ClassFacts& facts, unsigned level);
  Named attributes(Addr object, const ClassFacts& facts);
  // Returns the name that a key of a dict gives to its value: "" if the key is not a text.
  std::string key_name(Addr key);

  PythonMemory& memory_;
  ContentsOptions options_;
  ClassReader classes_;
  std::vector<Addr> path_;  // the containers that are being printed
  std::size_t room_ = 0;    // bytes left of this variable's text
  std::size_t objects_ = 0;
  std::uint64_t first_call_ = 0;
};

}  // namespace oddrank::cpython

// Classifies Python objects into a few kinds, by the name of their type. Each type is looked up
// once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "cpython/objects/types.h"
#include "cpython/python_sample.h"

namespace oddrank::waits {

template <typename Kind>
struct TypeName {
  std::string_view name;  // tp_name: "_thread.lock"; for a class written in Python, "Condition"
  Kind kind;
};

// `Kind` is an enumeration; Kind{} stands for all other types.
template <typename Kind>
class TypeKinds {
 public:
  // `names` must outlive the object.
  explicit TypeKinds(std::span<const TypeName<Kind>> names) : names_(names) {}

  Kind of(cpython::PythonSample& python, attach::Addr object);

 private:
  Kind by_name(const std::string& name) const;

  std::span<const TypeName<Kind>> names_;
  std::unordered_map<std::uint64_t, Kind> kinds_;  // by type
};

template <typename Kind>
Kind TypeKinds<Kind>::of(cpython::PythonSample& python, attach::Addr object) {
  const attach::Addr type = cpython::type_of(python.memory(), object);
  const auto [at, is_new] = kinds_.try_emplace(attach::value_of(type), Kind{});
  if (is_new && type != attach::Addr{}) {
    at->second = by_name(cpython::name_of_type(python.memory(), type));
  }
  return at->second;
}

template <typename Kind>
Kind TypeKinds<Kind>::by_name(const std::string& name) const {
  const auto known = std::find_if(names_.begin(), names_.end(),
                                  [&name](const auto& each) { return each.name == name; });
  return known == names_.end() ? Kind{} : known->kind;
}

}  // namespace oddrank::waits

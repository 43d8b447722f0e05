// An optional value on the heap: a std::optional of the size of a pointer, for large values that
// few objects have. The names mean the same as in std::optional.
#pragma once

#include <memory>
#include <optional>
#include <utility>

namespace oddrank {

template <typename T>
class Boxed {
 public:
  using value_type = T;

  Boxed() = default;
  Boxed(std::nullopt_t /*none*/) {}                    // NOLINT(google-explicit-constructor)
  Boxed(T value) : value_(new T(std::move(value))) {}  // NOLINT(google-explicit-constructor)
  Boxed(std::optional<T> value);                       // NOLINT(google-explicit-constructor)
  Boxed(const Boxed& other) : value_(other ? new T(*other) : nullptr) {}
  Boxed(Boxed&&) noexcept = default;
  Boxed& operator=(const Boxed& other);
  Boxed& operator=(Boxed&&) noexcept = default;
  ~Boxed() = default;

  explicit operator bool() const { return value_ != nullptr; }
  bool has_value() const { return value_ != nullptr; }
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return value_.get(); }
  const T* operator->() const { return value_.get(); }
  void reset() { value_.reset(); }
  T& emplace();

  bool operator==(const Boxed& other) const;

 private:
  std::unique_ptr<T> value_;
};

template <typename T>
Boxed<T>::Boxed(std::optional<T> value) {
  if (value) {
    value_ = std::make_unique<T>(*std::move(value));
  }
}

template <typename T>
Boxed<T>& Boxed<T>::operator=(const Boxed& other) {
  if (this != &other) {
    *this = Boxed(other);
  }
  return *this;
}

template <typename T>
T& Boxed<T>::emplace() {
  value_ = std::make_unique<T>();
  return *value_;
}

template <typename T>
bool Boxed<T>::operator==(const Boxed& other) const {
  return has_value() == other.has_value() && (!has_value() || **this == *other);
}

}  // namespace oddrank

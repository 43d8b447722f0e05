// A value that is the default in most objects: these take the size of a pointer and share one
// default value.
#pragma once

#include <memory>
#include <utility>

namespace oddrank {

template <typename T>
class Rare {
 public:
  using value_type = T;

  Rare() = default;
  Rare(T value);  // NOLINT(google-explicit-constructor)
  Rare(const Rare& other) : own_(other.own_ ? new T(*other.own_) : nullptr) {}
  Rare(Rare&&) noexcept = default;
  Rare& operator=(const Rare& other);
  Rare& operator=(Rare&&) noexcept = default;
  ~Rare() = default;

  const T& operator*() const { return own_ ? *own_ : shared(); }
  const T* operator->() const { return &**this; }
  // Returns the object's own value, to be changed.
  T& edit();
  // Returns whether it has no value of its own.
  bool is_default() const { return own_ == nullptr; }

  bool operator==(const Rare& other) const { return **this == *other; }

 private:
  static const T& shared();

  std::unique_ptr<T> own_;
};

template <typename T>
Rare<T>::Rare(T value) : own_(value == shared() ? nullptr : new T(std::move(value))) {}

template <typename T>
Rare<T>& Rare<T>::operator=(const Rare& other) {
  if (this != &other) {
    *this = Rare(other);
  }
  return *this;
}

template <typename T>
T& Rare<T>::edit() {
  if (own_ == nullptr) {
    own_ = std::make_unique<T>();
  }
  return *own_;
}

template <typename T>
const T& Rare<T>::shared() {
  static const T value;
  return value;
}

}  // namespace oddrank

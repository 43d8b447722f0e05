// A vector of the size of one pointer, for lists that are mostly empty or short.
//
// A large job's capture has millions of threads with a handful of mostly empty lists each: with
// three words for each list, these took a fifth of a report's memory. The length is stored before
// the items. The names mean the same as in std::vector; only those in use exist.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace oddrank {

template <typename T>
class SlimVector {
 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  SlimVector() = default;
  SlimVector(std::initializer_list<T> items) : SlimVector(items.begin(), items.end()) {}
  template <std::forward_iterator Iterator>
  SlimVector(Iterator first, Iterator last);
  SlimVector(const SlimVector& other) : SlimVector(other.begin(), other.end()) {}
  SlimVector(SlimVector&& other) noexcept : items_(std::exchange(other.items_, nullptr)) {}
  SlimVector& operator=(const SlimVector& other);
  SlimVector& operator=(SlimVector&& other) noexcept;
  ~SlimVector() { release(); }

  std::size_t size() const { return items_ == nullptr ? 0 : head().size; }
  bool empty() const { return size() == 0; }
  T* begin() { return items_; }
  T* end() { return items_ + size(); }
  const T* begin() const { return items_; }
  const T* end() const { return items_ + size(); }
  T* data() { return items_; }
  const T* data() const { return items_; }
  T& operator[](std::size_t at) { return items_[at]; }
  const T& operator[](std::size_t at) const { return items_[at]; }
  T& front() { return items_[0]; }
  const T& front() const { return items_[0]; }
  T& back() { return items_[size() - 1]; }
  const T& back() const { return items_[size() - 1]; }

  void reserve(std::size_t capacity);
  template <typename... Args>
  T& emplace_back(Args&&... args);
  void push_back(const T& item) { emplace_back(item); }
  void push_back(T&& item) { emplace_back(std::move(item)); }
  void pop_back() { std::destroy_at(items_ + --head().size); }
  void resize(std::size_t size);
  void clear() { release(); }
  void erase(T* first, T* last);

  bool operator==(const SlimVector& other) const;

 private:
  // In front of the items.
  struct Head {
    std::uint32_t size = 0;
    std::uint32_t capacity = 0;
  };
  static_assert(alignof(T) <= alignof(std::max_align_t));
  static constexpr std::size_t kBefore = std::max(sizeof(Head), alignof(T));

  Head& head() { return *std::launder(reinterpret_cast<Head*>(bytes() - kBefore)); }
  const Head& head() const {
    return *std::launder(reinterpret_cast<const Head*>(bytes() - kBefore));
  }
  std::byte* bytes() { return reinterpret_cast<std::byte*>(items_); }
  const std::byte* bytes() const { return reinterpret_cast<const std::byte*>(items_); }
  std::size_t capacity() const { return items_ == nullptr ? 0 : head().capacity; }
  void release();

  T* items_ = nullptr;
};

template <typename T>
template <std::forward_iterator Iterator>
SlimVector<T>::SlimVector(Iterator first, Iterator last) {
  reserve(static_cast<std::size_t>(std::distance(first, last)));
  for (; first != last; ++first) {
    emplace_back(*first);
  }
}

template <typename T>
SlimVector<T>& SlimVector<T>::operator=(const SlimVector& other) {
  if (this != &other) {
    *this = SlimVector(other);
  }
  return *this;
}

template <typename T>
SlimVector<T>& SlimVector<T>::operator=(SlimVector&& other) noexcept {
  std::swap(items_, other.items_);
  return *this;
}

// The items move if the capacity does not suffice. Lengths beyond 32 bits cannot occur: a capture
// may not take so much memory (snapshot/fields/row_table.h).
template <typename T>
void SlimVector<T>::reserve(std::size_t capacity) {
  if (capacity <= this->capacity()) {
    return;
  }
  // T may be a pointer. NOLINTNEXTLINE(bugprone-sizeof-expression)
  auto* const block = static_cast<std::byte*>(::operator new(kBefore + capacity * sizeof(T)));
  T* const items = reinterpret_cast<T*>(block + kBefore);
  const std::size_t count = size();
  std::uninitialized_move_n(items_, count, items);
  release();
  items_ = items;
  ::new (block) Head{static_cast<std::uint32_t>(count), static_cast<std::uint32_t>(capacity)};
}

template <typename T>
template <typename... Args>
T& SlimVector<T>::emplace_back(Args&&... args) {
  if (size() < capacity()) {
    T* const item = ::new (static_cast<void*>(end())) T(std::forward<Args>(args)...);
    ++head().size;
    return *item;
  }
  T item(std::forward<Args>(args)...);  // the arguments may be items of this vector
  reserve(std::max<std::size_t>(2 * size(), 1));
  ::new (static_cast<void*>(end())) T(std::move(item));
  ++head().size;
  return back();
}

template <typename T>
void SlimVector<T>::resize(std::size_t size) {
  reserve(size);
  while (this->size() < size) {
    emplace_back();
  }
  while (this->size() > size) {
    pop_back();
  }
}

template <typename T>
void SlimVector<T>::erase(T* first, T* last) {
  T* const left = std::move(last, end(), first);
  while (end() != left) {
    pop_back();
  }
}

// Like std::erase_if.
template <typename T, typename Predicate>
void erase_if(SlimVector<T>& items, const Predicate& predicate) {
  items.erase(std::remove_if(items.begin(), items.end(), predicate), items.end());
}

template <typename T>
bool SlimVector<T>::operator==(const SlimVector& other) const {
  return std::equal(begin(), end(), other.begin(), other.end());
}

template <typename T>
void SlimVector<T>::release() {
  if (items_ != nullptr) {
    std::destroy(begin(), end());
    ::operator delete(bytes() - kBefore);
    items_ = nullptr;
  }
}

}  // namespace oddrank

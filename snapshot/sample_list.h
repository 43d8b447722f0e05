// The samples of one thread, oldest first.
//
// Most threads of a hung job do not move, so all of their samples are equal: these take the memory
// of one, in the list itself. A large job has millions of such lists.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <span>

#include "base/small/slim_vector.h"
#include "snapshot/thread_sample.h"

namespace oddrank::snapshot {

class SampleList {
 public:
  class Iterator;
  using value_type = ThreadSample;

  SampleList() = default;
  SampleList(std::initializer_list<ThreadSample> samples);
  SampleList(std::size_t count, const ThreadSample& sample);

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // Returns whether they are known to be equal, and kept as one.
  bool all_equal() const { return all_.empty(); }
  const ThreadSample& operator[](std::size_t at) const { return all_.empty() ? one_ : all_[at]; }
  const ThreadSample& front() const { return (*this)[0]; }
  const ThreadSample& back() const { return (*this)[size_ - 1]; }
  Iterator begin() const;
  Iterator end() const;

  void push_back(ThreadSample sample);
  // Appends one, to be filled in.
  ThreadSample& emplace_back();
  void clear() { *this = {}; }
  // Returns one sample, to be changed.
  ThreadSample& edit(std::size_t at);
  ThreadSample& edit_back() { return edit(size_ - 1); }
  // Returns the stored samples, for a change that treats equal samples equally: one if all are
  // equal, else all of them.
  std::span<ThreadSample> stored();

  // Returns the index of the first sample since which the thread has not run; 0 for no samples.
  std::size_t still_since() const;

  bool operator==(const SampleList& other) const;

 private:
  // Stores each sample separately from now on.
  void spread();

  std::uint32_t size_ = 0;
  ThreadSample one_;              // if all are equal
  SlimVector<ThreadSample> all_;  // or else each
};

class SampleList::Iterator {
 public:
  using iterator_category = std::forward_iterator_tag;
  using value_type = ThreadSample;
  using difference_type = std::ptrdiff_t;
  using pointer = const ThreadSample*;
  using reference = const ThreadSample&;

  Iterator() = default;
  Iterator(const SampleList& list, std::size_t at) : list_(&list), at_(at) {}
  reference operator*() const { return (*list_)[at_]; }
  pointer operator->() const { return &**this; }
  Iterator& operator++();
  Iterator operator++(int);
  bool operator==(const Iterator&) const = default;

 private:
  const SampleList* list_ = nullptr;
  std::size_t at_ = 0;
};

inline SampleList::SampleList(std::initializer_list<ThreadSample> samples) {
  for (const ThreadSample& sample : samples) {
    push_back(sample);
  }
}

inline std::size_t SampleList::still_since() const {
  std::size_t first = size_ - std::min<std::size_t>(size_, 1);
  while (first > 0 && !ran_between((*this)[first - 1], back()).at_all) {
    --first;
  }
  return first;
}

inline SampleList::SampleList(std::size_t count, const ThreadSample& sample)
    : size_(static_cast<std::uint32_t>(count)), one_(sample) {}

inline SampleList::Iterator SampleList::begin() const {
  return {*this, 0};
}

inline SampleList::Iterator SampleList::end() const {
  return {*this, size_};
}

inline void SampleList::push_back(ThreadSample sample) {
  if (size_ == 0) {
    one_ = sample;
  } else if (!all_.empty() || sample != one_) {
    emplace_back() = sample;
    return;
  }
  ++size_;
}

inline ThreadSample& SampleList::emplace_back() {
  if (size_ > 0) {
    spread();
    all_.emplace_back();
  }
  ++size_;
  return edit_back();
}

inline ThreadSample& SampleList::edit(std::size_t at) {
  if (size_ > 1) {
    spread();
  }
  return all_.empty() ? one_ : all_[at];
}

inline std::span<ThreadSample> SampleList::stored() {
  return all_.empty() ? std::span(&one_, empty() ? 0 : 1) : std::span(all_.begin(), all_.size());
}

inline bool SampleList::operator==(const SampleList& other) const {
  if (size_ != other.size_) {
    return false;
  }
  for (std::size_t at = 0; at < size_; ++at) {
    if ((*this)[at] != other[at]) {
      return false;
    }
  }
  return true;
}

inline void SampleList::spread() {
  if (all_.empty()) {
    all_.reserve(size_ + 1);
    for (std::size_t at = 0; at < size_; ++at) {
      all_.push_back(one_);
    }
  }
}

inline SampleList::Iterator& SampleList::Iterator::operator++() {
  ++at_;
  return *this;
}

inline SampleList::Iterator SampleList::Iterator::operator++(int) {
  const Iterator before = *this;
  ++*this;
  return before;
}

}  // namespace oddrank::snapshot

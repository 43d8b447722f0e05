#include "waits/python_view.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "stacks/cpython/find_runtime.h"
#include "stacks/cpython/kernel_tid.h"
#include "stacks/cpython/thread_state.h"

namespace oddrank::waits {

namespace cpython = stacks::cpython;

std::optional<PythonView> PythonView::open(const attach::Target& target) {
  auto runtime = cpython::find_runtime(target);
  if (!runtime) {
    return std::nullopt;
  }
  PythonView view(target, *std::move(runtime));
  const cpython::Layout& layout = view.layout();
  const auto states = cpython::read_thread_states(view.reader_, layout, view.runtime_.address);
  if (!states) {
    return std::nullopt;
  }
  std::vector<attach::Addr> newest;
  for (const cpython::ThreadStateRow& row : states->threads) {
    newest.push_back(row.newest_frame);
  }
  auto chains = cpython::read_chains(view.reader_, layout, newest);
  cpython::KernelTids tids;
  const auto numbers =
      tids.resolve(target, view.reader_, layout, view.runtime_.address, states->threads);
  for (std::size_t i = 0; i < states->threads.size(); ++i) {
    const cpython::ThreadStateRow& row = states->threads[i];
    view.threads_.push_back({numbers[i], row.pthread, states->interpreters[row.interpreter].address,
                             std::move(chains[i].frames)});
  }
  return view;
}

const PythonThreadView* PythonView::by_tid(pid_t target_tid) const {
  const auto at = std::find_if(threads_.begin(), threads_.end(), [&](const auto& thread) {
    return thread.target_tid == target_tid && target_tid != 0;
  });
  return at == threads_.end() ? nullptr : &*at;
}

const PythonThreadView* PythonView::by_ident(std::uint64_t pthread) const {
  const auto at = std::find_if(threads_.begin(), threads_.end(), [&](const auto& thread) {
    return thread.pthread == pthread && pthread != 0;
  });
  return at == threads_.end() ? nullptr : &*at;
}

const cpython::CodeObject& PythonView::code(const cpython::RawFrame& frame) {
  codes_.load(reader_, layout(), std::span(&frame.code, 1));
  return codes_.at(frame.code);
}

std::string PythonView::place(const cpython::RawFrame& frame) {
  const cpython::CodeObject& object = code(frame);
  if (!object.readable) {
    return {};
  }
  const std::string_view path = object.file;
  const auto slash = path.rfind('/');
  return object.function + " (" +
         std::string(slash == std::string_view::npos ? path : path.substr(slash + 1)) + ":" +
         std::to_string(cpython::line_of(layout(), object, frame)) + ")";
}

}  // namespace oddrank::waits

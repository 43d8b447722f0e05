// Process groups in made-up memory. Real ones: tests/live/numbers_test.py.
#include "collectives/torch/process_group.h"

#include <array>
#include <string>
#include <vector>

#include "base/machine.h"
#include "tests/support/catch.h"
#include "tests/support/machine_code.h"
#include "tests/unit/cpython/cpython_heap.h"

namespace oddrank::collectives {
namespace {

using test::PythonHeap;

constexpr std::uint64_t kCode = 0x40000000;

// The C++ objects of groups, laid out as in 2.13.
class Groups {
 public:
  Groups() {
    attach::Mapping mapping;
    mapping.start = kCode;
    mapping.end = kCode + 0x1000;
    mapping.executable = true;
    heap_.target().add_mapping(mapping);
    heap_.target().add_memory(Addr{kCode}, std::string(0x1000, '\x90'));
  }

  Addr object(const std::string& class_name, std::size_t size, Addr table = {}) {
    const Addr at = heap_.allocate(size);
    heap_.put_pointer(at, table == Addr{} ? this->table(class_name, {}) : table);
    return at;
  }
  // Makes a virtual table; `functions`: code of each.
  Addr table(const std::string& class_name, const std::vector<std::string>& functions) {
    const Addr name = heap_.allocate(class_name.size() + 17);
    heap_.target().add_memory(name, class_name + '\0');
    const Addr type = heap_.allocate(16);
    heap_.put_pointer(type + 8, name);
    const Addr table = heap_.allocate(16 + functions.size() * 8 + 16);
    heap_.put_pointer(table + 8, type);
    for (std::size_t i = 0; i < functions.size(); ++i) {
      const Addr code{kCode + 32 * next_function_++};
      heap_.target().add_memory(code, functions[i]);
      heap_.put_pointer(table + 16 + i * 8, code);
    }
    return table + 16;
  }
  // Makes a group with one map of backends, and its Python object.
  Addr group(std::int32_t rank, std::int32_t size, const std::vector<Addr>& backends) {
    const Addr group = object("N4c10d12ProcessGroupE", 512);
    heap_.put(group + 24, rank);
    heap_.put(group + 28, size);
    const Addr map = group + 248;
    heap_.put_pointer(map, heap_.allocate(16));
    heap_.put(map + 8, std::uint64_t{3});
    heap_.put(map + 24, std::uint64_t{backends.size()});
    heap_.put(map + 32, 1.0F);
    Addr link = map + 16;
    for (std::size_t i = 0; i < backends.size(); ++i) {
      const Addr node = heap_.allocate(24);
      heap_.put_pointer(link, node);
      heap_.put(node + 8, static_cast<std::uint8_t>(i + 1));
      heap_.put_pointer(node + 16, backends[i]);
      link = node;
    }
    const Addr python = heap_.object(heap_.type("ProcessGroup"));
    heap_.put_pointer(python + heap_.layout().object.head, group);
    return python;
  }

  std::optional<GroupMemory> read(Addr python, std::string_view version = "2.13.0+cpu") {
    auto memory = heap_.memory();
    return GroupReader(memory, version).read(python);
  }
  PythonHeap& heap() { return heap_; }

 private:
  PythonHeap heap_{cpython::layout_3_11()};
  std::size_t next_function_ = 0;
};

TEST_CASE("the getter in a backend's virtual table tells where its number is") {
  Groups groups;
  const Addr table =
      groups.table("N4c10d16ProcessGroupGlooE",
                   {test::zero_code(), test::empty_code(), test::getter_code(0x120), "\x90\x90"});
  const Addr gloo = groups.object("", 512, table);
  groups.heap().put(gloo + 0x120, std::int64_t{1207});
  const auto group = groups.read(groups.group(3, 8, {gloo}));
  REQUIRE(group);
  CHECK(group->rank == 3);
  CHECK(group->size == 8);
  REQUIRE(group->backends.size() == 1);
  CHECK(group->backends[0].backend == "gloo");
  CHECK(group->backends[0].collectives == 1207);
  CHECK(group->backends[0].transfers == -1);
}

TEST_CASE("of several getters the one behind an empty function counts") {
  Groups groups;
  const Addr table = groups.table("N4c10d16ProcessGroupNCCLE",
                                  {test::getter_code(0x40), test::zero_code(), test::empty_code(),
                                   test::getter_code(0x3e8), test::getter_code(0x50)});
  const Addr nccl = groups.object("", 1200, table);
  groups.heap().put(nccl + 0x3e8, std::int64_t{12});
  groups.heap().put(nccl + 0x3f0, std::int64_t{34});
  const auto group = groups.read(groups.group(0, 2, {nccl}));
  REQUIRE(group);
  CHECK(group->backends.at(0).backend == "nccl");
  CHECK(group->backends[0].collectives == 12);
  CHECK(group->backends[0].transfers == 34);
}

TEST_CASE("without readable code the measured offsets count, for versions that were measured") {
  Groups groups;
  const Addr gloo = groups.object("N4c10d16ProcessGroupGlooE", 1024);
  groups.heap().put(gloo + 0x1c8, std::int64_t{5});
  const Addr python = groups.group(0, 2, {gloo});
  // Measured on x86-64; elsewhere the mutexes before the member are larger.
  const std::int64_t known = kOurMachine == Machine::kAmd64 ? 5 : -1;
  CHECK(groups.read(python, "2.13.1")->backends.at(0).collectives == known);
  CHECK(groups.read(python, "2.99.0")->backends.at(0).collectives == -1);
  CHECK(groups.read(python, "")->backends.at(0).collectives == -1);
}

TEST_CASE("a wrapper leads to the backend that it wraps") {
  Groups groups;
  const Addr table =
      groups.table("N4c10d16ProcessGroupGlooE", {test::empty_code(), test::getter_code(0x120)});
  const Addr inner = groups.object("", 512, table);
  groups.heap().put(inner + 0x120, std::int64_t{7});
  const Addr helper = groups.object("", 512, table);
  groups.heap().put(helper + 0x120, std::int64_t{99});
  const Addr wrapper = groups.object("N4c10d19ProcessGroupWrapperE", 512);
  groups.heap().put_pointer(wrapper + 264, inner);
  groups.heap().put_pointer(wrapper + 272, helper);
  CHECK(groups.read(groups.group(0, 2, {wrapper}))->backends.at(0).collectives == 7);
}

TEST_CASE("memory that is no group is none") {
  Groups groups;
  CHECK_FALSE(groups.read(Addr{}));
  CHECK_FALSE(groups.read(Addr{0x7777}));
  const Addr gloo = groups.object("N4c10d16ProcessGroupGlooE", 512);
  CHECK_FALSE(groups.read(groups.group(4, 4, {gloo})));
  CHECK_FALSE(groups.read(groups.group(0, -1, {gloo})));
  const Addr other = groups.object("N4c10d8TCPStoreE", 512);
  CHECK(groups.read(groups.group(0, 2, {other}))->backends.empty());
  const Addr python = groups.heap().object(groups.heap().type("ProcessGroup"));
  groups.heap().put_pointer(python + groups.heap().layout().object.head, other);
  CHECK_FALSE(groups.read(python));
}

TEST_CASE("versions of torch are numbers") {
  CHECK(torch_version_number("2.13.0+cpu") == 213);
  CHECK(torch_version_text(213) == "2.13");
  CHECK(torch_version_number("2.4.1") == 204);
  CHECK(torch_version_number("1.13.1") == 113);
  CHECK(torch_version_number("2.10.0a0+git123") == 210);
  CHECK(torch_version_number("2") == 0);
  CHECK(torch_version_number("") == 0);
  CHECK(torch_version_number("x.y") == 0);
}

}  // namespace
}  // namespace oddrank::collectives

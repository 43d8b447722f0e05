// GPUs as nvidia-smi prints them, ports as the kernel's files have them.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "collectives/around/gpu_table.h"
#include "collectives/around/link_ports.h"
#include "tests/support/catch.h"

namespace oddrank::collectives {
namespace {

constexpr std::string_view kDevices =
    "0, GPU-aa, NVIDIA H100 80GB HBM3, 100, 0, 121.53, 700.00, 61234, 81559, 1980, 0, 16, "
    "00000000:3B:00.0\n"
    "1, GPU-bb, NVIDIA H100 80GB HBM3, 0, 0, 69, 700.00, 4, 81559, 345, [N/A], [N/A], [N/A]\n"
    "Unable to determine the device handle for GPU 0000:41:00.0: GPU is lost.\n";

TEST_CASE("GPUs: the fields, and those that a device does not report") {
  snapshot::Tables tables;
  const auto rows =
      read_gpu_table({kDevices, "GPU-aa, 71\nGPU-aa, 72\nGPU-xx, 73\n\n",
                      "GPU-aa, 0x0000000000000048\nGPU-bb, [N/A]\nGPU-xx, 0x8\n", "", ""},
                     tables);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].index == 0);
  CHECK(tables.text(rows[0].name) == "NVIDIA H100 80GB HBM3");
  CHECK(rows[0].utilization == 100);
  CHECK(rows[0].memory_utilization == 0);
  CHECK(rows[0].power_mw == 121'530);
  CHECK(rows[0].power_limit_mw == 700'000);
  CHECK(rows[0].memory_used_mib == 61'234);
  CHECK(rows[0].clock_mhz == 1980);
  CHECK(rows[0].ecc_errors == 0);
  CHECK(rows[0].pcie_width == 16);
  CHECK(rows[0].clock_reasons == 0x48);
  CHECK(tables.text(rows[0].pci) == "0000:3b:00");
  CHECK(tables.text(rows[1].pci).empty());
  CHECK(rows[0].nvlink_errors == -1);
  CHECK(rows[0].pids == std::vector<pid_t>{71, 72});
  CHECK(rows[1].power_mw == 69'000);
  CHECK(rows[1].ecc_errors == -1);
  CHECK(rows[1].pcie_width == -1);
  CHECK(rows[1].clock_reasons == -1);
  CHECK(rows[1].pids.empty());
  CHECK(read_gpu_table({"No devices were found\n", "", "", "", ""}, tables).empty());
  CHECK(read_gpu_table({"x, , , , , , , , , , , , \n", "a,b,c\n", "", "", ""}, tables).empty());
}

TEST_CASE("GPUs: what lowers a clock is answered, or the field is unknown") {
  CHECK(has_clock_reasons("GPU-aa, 0x0000000000000000\n"));
  CHECK_FALSE(has_clock_reasons(
      "Field \"clocks_event_reasons.active\" is not a valid field to query.\n\n"));
  CHECK_FALSE(has_clock_reasons("GPU-aa, [N/A]\n"));
}

// As a V100, an H100 and a B300 (driver 595) print it.
TEST_CASE("GPUs: errors of NVLinks are added up, without those that were corrected") {
  constexpr std::string_view kBefore =
      "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-aa)\n"
      "\t Link 0: Replay Errors: 2353\n\t Link 0: Recovery Errors: 0\n\t Link 0: CRC Errors: 7\n\n"
      "\t Link 17: Replay Errors: 0\n"
      "GPU 1: NVIDIA B300 SXM6 AC (UUID: GPU-bb)\n"
      "\t Link 0: Malformed packet Errors: 0\n\t Link 0: Link recovery failed events: 1\n"
      "\t Link 0: FEC Errors - 0: 123456\n\t Link 0: Symbol Errors: 55\n"
      "\t Link 1: Rx Errors: -3\n\t Link 1: Rx Errors: 99999999999999999999999\n"
      "GPU 2: without an address\n\t Link 0: Replay Errors: 9\n";
  constexpr std::string_view kLater =
      "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-aa)\n\t Link 0: Replay Errors: 2400\n";
  snapshot::Tables tables;
  const auto rows = read_gpu_table({kDevices, "", "", kBefore, kLater}, tables);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].nvlink_errors == 2360);
  CHECK(rows[0].nvlink_errors_later == 2400);
  CHECK(rows[1].nvlink_errors == 1);
  CHECK(rows[1].nvlink_errors_later == -1);
  CHECK(has_nvlink_errors(kBefore));
  CHECK_FALSE(has_nvlink_errors(
      "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-aa)\n\t Link 0: Replay Errors: 0\n"));
  CHECK_FALSE(has_nvlink_errors("Failed to initialize NVML: Driver/library version mismatch\n"));
}

// A folder of made-up kernel files, gone at the end.
class FakeSysfs {
 public:
  FakeSysfs()
      : root_(std::filesystem::temp_directory_path() /
              ("oddrank-ports-" + std::to_string(::getpid()))) {}
  ~FakeSysfs() { std::filesystem::remove_all(root_); }
  FakeSysfs(const FakeSysfs&) = delete;
  FakeSysfs& operator=(const FakeSysfs&) = delete;

  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text;
  }
  std::string path() const { return root_.string(); }

 private:
  std::filesystem::path root_;
};

TEST_CASE("ports: state and counters; missing ones are unknown") {
  const FakeSysfs sysfs;
  const std::string port = "mlx5_0/ports/1/";
  sysfs.write(port + "state", "4: ACTIVE\n");
  sysfs.write(port + "phys_state", "5: LinkUp\n");
  sysfs.write(port + "rate", "400 Gb/sec (4X NDR)\n");
  sysfs.write(port + "counters/link_downed", "1\n");
  sysfs.write(port + "counters/symbol_error", "2\n");
  sysfs.write(port + "hw_counters/packet_seq_err", "40\n");
  sysfs.write(port + "counters/port_xmit_data", "1000\n");
  sysfs.write(port + "counters/port_rcv_data", "500\n");
  sysfs.write("mlx5_1/ports/1/state", "1: DOWN\n");
  sysfs.write("mlx5_1/ports/1/hw_counters/link_downed", "3\n");  // as of Soft-RoCE
  sysfs.write("mlx5_1/ports/nonsense/state", "1: DOWN\n");
  snapshot::Tables tables;
  const auto ports = read_link_ports(sysfs.path(), tables);
  REQUIRE(ports.size() == 2);
  CHECK(tables.text(ports[0].device) == "mlx5_0");
  CHECK(ports[0].port == 1);
  CHECK(tables.text(ports[0].state) == "ACTIVE");
  CHECK(tables.text(ports[0].physical) == "LinkUp");
  CHECK(tables.text(ports[0].rate) == "400 Gb/sec (4X NDR)");
  CHECK(ports[0].link_downed == 1);
  CHECK(ports[0].errors == 42);
  CHECK(ports[0].transferred == 1500);
  CHECK(tables.text(ports[1].state) == "DOWN");
  CHECK(ports[1].link_downed == 3);
  CHECK(ports[1].errors == -1);
  CHECK(ports[1].transferred == -1);
  CHECK(read_link_ports(sysfs.path() + "/nowhere", tables).empty());

  snapshot::Capture first;
  first.tables = std::move(tables);
  first.collectives.ports = ports;
  sysfs.write(port + "counters/port_rcv_errors", "5\n");
  sysfs.write(port + "counters/port_xmit_data", "1700\n");
  snapshot::Capture later;
  later.collectives.ports = read_link_ports(sysfs.path(), later.tables);
  add_later_counts(later, first);
  CHECK(first.collectives.ports[0].errors_later == 47);
  CHECK(first.collectives.ports[0].transferred_later == 2200);
  CHECK(first.collectives.ports[1].errors_later == -1);
}

}  // namespace
}  // namespace oddrank::collectives

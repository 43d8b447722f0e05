#include "attach/core/core_modules.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "attach/core/core_bytes.h"
#include "attach/files/open_as.h"
#include "attach/files/open_path.h"
#include "base/base_name.h"
#include "base/elf_notes.h"
#include "base/machine.h"

namespace oddrank::attach {
namespace {

constexpr std::uint64_t kMaxNotes = 4096;
// gcore writes no segment for memory that it leaves out, so only the number of mappings
// distinguishes code from data: a library has four or five, data has one.
constexpr std::size_t kMappingsOfCode = 3;

// Returns the program headers of an ELF file, as many as its first `bytes` hold; empty if it is not
// for our machine.
std::vector<Elf64_Phdr> program_headers(Bytes bytes) {
  Elf64_Ehdr header{};
  if (bytes.size() < sizeof header) {
    return {};
  }
  std::memcpy(&header, bytes.data(), sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_machine != elf_machine(kOurMachine) || header.e_phentsize != sizeof(Elf64_Phdr) ||
      header.e_phoff > bytes.size()) {
    return {};
  }
  const Bytes table = bytes.subspan(header.e_phoff);
  std::vector<Elf64_Phdr> headers(
      std::min<std::size_t>(header.e_phnum, table.size() / sizeof(Elf64_Phdr)));
  if (!headers.empty()) {
    std::memcpy(headers.data(), table.data(), headers.size() * sizeof(Elf64_Phdr));
  }
  return headers;
}

bool is_elf(Bytes bytes) {
  return bytes.size() >= SELFMAG && std::memcmp(bytes.data(), ELFMAG, SELFMAG) == 0;
}

std::string build_id_of_file(Bytes bytes) {
  for (const Elf64_Phdr& header : program_headers(bytes)) {
    if (header.p_type != PT_NOTE || header.p_offset > bytes.size()) {
      continue;
    }
    const Bytes rest = bytes.subspan(header.p_offset);
    auto id = build_id_of_notes(rest.first(std::min<std::size_t>(header.p_filesz, rest.size())),
                                header.p_align);
    if (!id.empty()) {
      return id;
    }
  }
  return {};
}

// Returns the build id of the file whose first page the process had at `start`, if the core holds
// the data that its headers point to.
std::string build_id_in_core(const CoreFile& core, Bytes header, std::uint64_t start) {
  const auto headers = program_headers(header);
  const auto first = std::find_if(headers.begin(), headers.end(), [](const Elf64_Phdr& one) {
    return one.p_type == PT_LOAD && one.p_offset < kPage;
  });
  if (first == headers.end()) {
    return {};
  }
  const std::uint64_t bias = start - (first->p_vaddr - first->p_offset);
  for (const Elf64_Phdr& one : headers) {
    if (one.p_type != PT_NOTE) {
      continue;
    }
    const Bytes notes =
        core.bytes_at(bias + one.p_vaddr, std::min<std::uint64_t>(one.p_memsz, kMaxNotes));
    auto id = build_id_of_notes(notes, one.p_align);
    if (!id.empty()) {
      return id;
    }
  }
  return {};
}

}  // namespace

CoreModules::CoreModules(const CoreFile& core, std::string sysroot, std::int64_t written)
    : core_(core), sysroot_(std::move(sysroot)), written_(written) {
  std::unordered_map<std::string, std::size_t> seen;
  for (const CoreMappedFile& file : core.notes().files) {
    const auto [at, fresh] = seen.emplace(file.path, paths_.size());
    if (fresh) {
      paths_.push_back(file.path);
      known_.emplace_back();
    }
    Known& known = known_[at->second];
    known.deleted = known.deleted || file.deleted;
    if (file.file_offset == 0 && !known.has_header) {
      known.header_at = file.start;
      known.has_header = is_elf(core.bytes_at(file.start, kPage));
    }
    ++known.mappings;
    const CoreSegment* segment = core.find(file.start);
    known.is_code = known.is_code || known.has_header ||
                    (segment != nullptr && segment->executable) ||
                    known.mappings >= kMappingsOfCode;
    known.is_data = !known.is_code && (known.is_data || segment != nullptr);
  }
}

Bytes CoreModules::header_of(const Known& known) const {
  return known.has_header ? core_.bytes_at(known.header_at, kPage) : Bytes();
}

Status CoreModules::compare(const MappedFile& bytes,
                            const Known& known,
                            std::int64_t changed) const {
  if (!is_elf(bytes.span())) {
    return fail(Errc::kBadData, "it is not an ELF file");
  }
  const Bytes header = header_of(known);
  if (header.empty()) {
    if (known.deleted) {
      return fail(Errc::kNotFound, "it was deleted before the core was written");
    }
    if (changed > written_) {
      return fail(Errc::kBadData, "it is newer than the core, which holds nothing to compare");
    }
    return ok();
  }
  const std::string wanted = build_id_in_core(core_, header, known.header_at);
  if (!wanted.empty()) {
    const std::string id = build_id_of_file(bytes.span());
    return id == wanted ? ok()
                        : Status(fail(Errc::kBadData, "another build of it is there (build id " +
                                                          (id.empty() ? "none" : id) + ", not " +
                                                          wanted + ")"));
  }
  const std::size_t size = std::min(header.size(), bytes.span().size());
  if (std::memcmp(header.data(), bytes.span().data(), size) != 0) {
    return fail(Errc::kBadData, "another build of it is there");
  }
  return ok();
}

Result<UniqueFd> CoreModules::open_at(const std::string& path, bool below_sysroot) const {
  // The core names the file, and the core's owner may have written that name. Only files below the
  // folder that the user named are opened.
  if (below_sysroot) {
    return open_regular_below(sysroot_, path);
  }
  ODDRANK_TRY(const ActAs acting, ActAs::begin(core_.owner()));
  return open_regular(path);
}

Status CoreModules::look_at(const std::string& path, bool below_sysroot, Known& known) const {
  auto fd = open_at(path, below_sysroot);
  if (!fd) {
    return fail(std::move(fd).error());
  }
  struct stat info {};
  if (::fstat(fd->get(), &info) != 0) {
    return fail(errno_code(errno), "cannot examine it: " + errno_text(errno));
  }
  ODDRANK_TRY(MappedFile bytes, MappedFile::map(UniqueFd(::fcntl(fd->get(), F_DUPFD_CLOEXEC, 0))));
  ODDRANK_TRY_STATUS(compare(bytes, known, info.st_mtim.tv_sec));
  known.bytes = std::move(bytes);
  known.fd = *std::move(fd);
  return ok();
}

const CoreModules::Known& CoreModules::find(std::size_t file) const {
  Known& known = known_[file];
  if (known.tried) {
    return known;
  }
  known.tried = true;
  const std::string& path = paths_[file];
  if (path.empty() || path.front() != '/') {
    known.trouble = Error{Errc::kNotFound, "it cannot be opened as a file", {}};
    return known;
  }
  Status status = fail(Errc::kNotFound, "");
  if (!sysroot_.empty()) {
    status = look_at(path, true, known);
    if (!status) {  // a folder with only the few files needed
      if (const Status flat = look_at("/" + std::string(base_name(path)), true, known)) {
        status = flat;
      }
    }
  }
  // If there is a sysroot, other files count only if the core can verify them.
  if (!status && (sysroot_.empty() || known.has_header)) {
    const Status plain = look_at(path, false, known);
    if (plain || sysroot_.empty()) {
      status = plain;
    }
  }
  if (!status) {
    known.trouble = std::move(status).error();
  }
  return known;
}

Result<UniqueFd> CoreModules::open(std::size_t file) const {
  const Known& known = find(file);
  if (known.trouble) {
    return fail(*known.trouble);
  }
  UniqueFd fd(::fcntl(known.fd.get(), F_DUPFD_CLOEXEC, 0));
  if (!fd.valid()) {
    return fail(errno_code(errno), "cannot open " + paths_[file] + ": " + errno_text(errno));
  }
  return fd;
}

Result<UniqueFd> CoreModules::open_named(const std::string& path) const {
  if (path.empty() || path.front() != '/') {
    return fail(Errc::kNotFound, path + " is not a whole path");
  }
  auto fd = open_at(path, !sysroot_.empty());
  if (!fd && !sysroot_.empty()) {
    fd = open_at(path, false);
  }
  struct stat info {};
  if (fd && (::fstat(fd->get(), &info) != 0 || info.st_mtim.tv_sec > written_)) {
    return fail(Errc::kBadData, path + " is newer than the core");
  }
  return fd;
}

Bytes CoreModules::bytes_at(std::size_t file, std::uint64_t offset) const {
  if (known_[file].is_data) {
    return {};
  }
  const Bytes all = find(file).bytes.span();
  return offset < all.size() ? all.subspan(offset) : Bytes();
}

std::vector<FilePart> CoreModules::parts(std::size_t file) const {
  auto headers = program_headers(header_of(known_[file]));
  if (headers.empty()) {
    headers = program_headers(find(file).bytes.span());
  }
  std::vector<FilePart> parts;
  for (const Elf64_Phdr& header : headers) {
    if (header.p_type == PT_LOAD) {
      parts.push_back({header.p_offset, header.p_filesz, (header.p_flags & PF_W) != 0,
                       (header.p_flags & PF_X) != 0});
    }
  }
  return parts;
}

std::vector<MissingFile> CoreModules::missing() const {
  std::vector<MissingFile> missing;
  for (std::size_t i = 0; i < known_.size(); ++i) {
    if (known_[i].is_code && known_[i].trouble) {
      missing.push_back({paths_[i], known_[i].trouble->what});
    }
  }
  std::sort(missing.begin(), missing.end(),
            [](const MissingFile& a, const MissingFile& b) { return a.path < b.path; });
  return missing;
}

}  // namespace oddrank::attach

#include "elf/module_map.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "elf/shared_images.h"

namespace oddrank::elf {
namespace {

using attach::Mapping;

constexpr std::uint64_t kPage = 4096;

bool is_vdso(const Mapping& mapping) {
  return mapping.path == "[vdso]";
}

// Segments of one file lie in order of their file offsets. Two of a very small file may both begin
// at offset 0; the first of them is a page long then.
bool continues(const Mapping& last, const Mapping& next) {
  return next.file_offset > last.file_offset ||
         (next.file_offset == last.file_offset && last.end - last.start <= kPage);
}

std::vector<Module> group(const attach::MemoryMap& maps) {
  using Key = std::tuple<std::string_view, std::uint32_t, std::uint64_t>;
  std::map<Key, std::size_t> latest;
  std::vector<Module> modules;
  for (const Mapping& mapping : maps.listed()) {
    if (mapping.inode == 0 && !is_vdso(mapping)) {
      continue;
    }
    const Key key{mapping.path, mapping.device, mapping.inode};
    const auto known = latest.find(key);
    if (known != latest.end() && continues(*modules[known->second].mappings.back(), mapping)) {
      Module& module = modules[known->second];
      module.end = mapping.end;
      module.mappings.push_back(&mapping);
      continue;
    }
    latest[key] = modules.size();
    modules.push_back({mapping.path, mapping.start, mapping.end, &mapping, {&mapping}});
  }
  modules.erase(std::remove_if(modules.begin(), modules.end(),
                               [](const Module& module) {
                                 return std::none_of(
                                     module.mappings.begin(), module.mappings.end(),
                                     [](const Mapping* one) { return one->executable; });
                               }),
                modules.end());
  return modules;
}

// Returns the bias under which `mapping` shows `segment`; nullopt if it cannot be that segment.
std::optional<std::uint64_t> bias_of(const Mapping& mapping, const ElfSegment& segment) {
  const std::uint64_t first_page = segment.file_offset & ~(kPage - 1);
  if (segment.executable != mapping.executable || mapping.file_offset < first_page ||
      mapping.file_offset - first_page >= segment.file_size + (segment.file_offset - first_page)) {
    return std::nullopt;
  }
  const std::uint64_t bias =
      mapping.start - (segment.address - segment.file_offset + mapping.file_offset);
  if (bias % kPage != 0) {
    return std::nullopt;
  }
  return bias;
}

std::optional<std::uint64_t> bias_of(const Mapping& mapping, const ElfImage& image) {
  for (const ElfSegment& segment : image.segments()) {
    if (const auto bias = bias_of(mapping, segment)) {
      return bias;
    }
  }
  return std::nullopt;
}

// Segments of code are tried first: nearly every file has only one, so no other can be mistaken for
// it.
Result<std::uint64_t> bias_of(const Module& module, const ElfImage& image) {
  auto mappings = module.mappings;
  std::stable_partition(mappings.begin(), mappings.end(),
                        [](const Mapping* mapping) { return mapping->executable; });
  for (const Mapping* mapping : mappings) {
    if (const auto bias = bias_of(*mapping, image)) {
      return *bias;
    }
  }
  return fail(Errc::kBadData, "the segments of " + module.path + " are not where it is mapped");
}

}  // namespace

struct ModuleMap::Impl {
  using Image = std::shared_ptr<const ElfImage>;

  explicit Impl(const attach::Target& the_target);

  // What is known about one module; found once.
  struct Known {
    std::optional<Result<Image>> image;
    std::optional<Result<std::uint64_t>> load_bias;
    std::optional<Result<MappedHeader>> header;
  };

  const attach::Target& target;
  std::vector<Module> modules;
  std::vector<Known> known;  // beside modules
  std::unordered_map<const Mapping*, std::size_t> by_mapping;

  Known& of(const Module& module) {
    return known[static_cast<std::size_t>(&module - modules.data())];
  }
  Result<Image> open_image(const Module& module);
  Result<MappedHeader> read_header(const Module& module);
};

ModuleMap::Impl::Impl(const attach::Target& the_target)
    : target(the_target), modules(group(the_target.maps())), known(modules.size()) {
  for (std::size_t i = 0; i < modules.size(); ++i) {
    for (const Mapping* mapping : modules[i].mappings) {
      by_mapping.emplace(mapping, i);
    }
  }
}

Result<ModuleMap::Impl::Image> ModuleMap::Impl::open_image(const Module& module) {
  if (is_vdso(*module.mapping)) {
    std::vector<std::byte> bytes(std::min(module.end - module.start, kMaxVdso));
    ODDRANK_TRY_STATUS(target.read(attach::Addr{module.start}, bytes));
    ODDRANK_TRY(ElfImage image, ElfImage::from_memory(std::move(bytes)));
    return std::make_shared<const ElfImage>(std::move(image));
  }
  ODDRANK_TRY(auto fd, target.open_file(*module.mapping));
  return open_shared_image(std::move(fd));
}

Result<MappedHeader> ModuleMap::Impl::read_header(const Module& module) {
  if (module.mapping->file_offset != 0) {
    return fail(Errc::kNotFound, "the header of " + module.path + " is not mapped");
  }
  return read_mapped_header(target, *module.mapping);
}

ModuleMap::ModuleMap(const attach::Target& target) : impl_(std::make_unique<Impl>(target)) {}
ModuleMap::~ModuleMap() = default;

const std::vector<Module>& ModuleMap::modules() const {
  return impl_->modules;
}

const Module* ModuleMap::find(std::uint64_t address) const {
  const Mapping* mapping = impl_->target.maps().find(attach::Addr{address});
  const auto found = impl_->by_mapping.find(mapping);
  return found == impl_->by_mapping.end() ? nullptr : &impl_->modules[found->second];
}

Result<const MappedHeader*> ModuleMap::mapped_header(const Module& module) {
  auto& header = impl_->of(module).header;
  if (!header) {
    header = impl_->read_header(module);
  }
  if (!*header) {
    return fail(header->error());
  }
  return &**header;
}

Result<const ElfImage*> ModuleMap::image_of(const Module& module) {
  auto& image = impl_->of(module).image;
  if (!image) {
    image = impl_->open_image(module);
    const auto header = mapped_header(module);
    if (*image && header && (*header)->build_id != (**image)->build_id()) {
      image = fail(Errc::kBadData, "another build of the file is mapped");
    }
    if (!*image) {
      image = fail(std::move(image->error()).in(module.path));
    }
  }
  if (!*image) {
    return fail(image->error());
  }
  return (**image).get();
}

Result<std::uint64_t> ModuleMap::load_bias(const Module& module) {
  auto& bias = impl_->of(module).load_bias;
  if (!bias) {
    const auto image = image_of(module);
    bias = image ? bias_of(module, **image) : Result<std::uint64_t>(fail(image.error()));
  }
  return *bias;
}

std::string ModuleMap::build_id(const Module& module) {
  if (const auto header = mapped_header(module); header && !(*header)->build_id.empty()) {
    return (*header)->build_id;
  }
  const auto image = image_of(module);
  return image ? (*image)->build_id() : std::string();
}

}  // namespace oddrank::elf

// What libfmt has compiled, for programs that are linked statically: Debian ships it as a shared
// library only. The same as fmt's own src/format.cc, which the package lacks, less what is for
// wchar_t and for locales.
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {

template FMT_API auto dragonbox::to_decimal(float x) noexcept -> dragonbox::decimal_fp<float>;
template FMT_API auto dragonbox::to_decimal(double x) noexcept -> dragonbox::decimal_fp<double>;
template FMT_API auto thousands_sep_impl(locale_ref loc) -> thousands_sep_result<char>;
template FMT_API auto decimal_point_impl(locale_ref loc) -> char;
template FMT_API void buffer<char>::append(const char* begin, const char* end);
#if FMT_VERSION >= 100000 && FMT_VERSION < 120000  // older ones compile it in each file
template FMT_API void vformat_to(buffer<char>& buf,
                                 string_view fmt,
                                 vformat_args<>::type args,
                                 locale_ref loc);
#endif

}  // namespace detail
FMT_END_NAMESPACE

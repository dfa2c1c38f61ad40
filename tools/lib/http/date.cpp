// Calendar arithmetic by <chrono>; the text is matched against one pattern for each format.
#include "tools/lib/http/date.hpp"

#include <algorithm>
#include <chrono>

namespace lockstep::http {
namespace {

using std::chrono::day;
using std::chrono::month;
using std::chrono::year;
using std::chrono::year_month_day;

constexpr std::string_view month_names = "JanFebMarAprMayJunJulAugSepOctNovDec";
constexpr std::string_view day_names = "SunMonTueWedThuFriSat";
constexpr std::array<std::string_view, 7> long_day_names{
    "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};

year_month_day calendar_of(UnixSeconds at) {
  auto const days = std::chrono::days{static_cast<int>(at.value / 86'400)};
  return year_month_day{std::chrono::sys_days{days}};
}

/// The fields of a date as they are read.
struct DateFields {
  int year = 0;
  unsigned month = 0;
  unsigned day = 0;
  unsigned hour = 0;
  unsigned minute = 0;
  unsigned second = 0;
};

int digits_in(std::string_view text) {
  int value = 0;
  for (char const letter : text) {
    if (letter < '0' || letter > '9') {
      return -1;
    }
    value = value * 10 + (letter - '0');
  }
  return value;
}

bool take_number(std::string_view text, unsigned& into) {
  int const value = digits_in(text);
  into = static_cast<unsigned>(std::max(0, value));
  return value >= 0;
}

/// 0 if it is no name of a month.
unsigned month_named(std::string_view name) {
  std::size_t const at = month_names.find(name);
  return at == std::string_view::npos || at % 3 != 0 ? 0 : static_cast<unsigned>(at / 3 + 1);
}

bool is_day_name(std::string_view name) {
  std::size_t const at = day_names.find(name);
  return at != std::string_view::npos && at % 3 == 0;
}

/// "08:49:37"
bool take_time(std::string_view text, DateFields& into) {
  return text[2] == ':' && text[5] == ':' && take_number(text.substr(0, 2), into.hour) &&
         take_number(text.substr(3, 2), into.minute) && take_number(text.substr(6, 2), into.second);
}

/// "Sun, 06 Nov 1994 08:49:37 GMT"
bool take_fixdate(std::string_view text, DateFields& into) {
  if (text.size() != 29 || !is_day_name(text.substr(0, 3)) || text.substr(3, 2) != ", " ||
      text[7] != ' ' || text[11] != ' ' || text[16] != ' ' || text.substr(25) != " GMT") {
    return false;
  }
  into.month = month_named(text.substr(8, 3));
  into.year = digits_in(text.substr(12, 4));
  return take_number(text.substr(5, 2), into.day) && take_time(text.substr(17, 8), into);
}

/// "Sunday, 06-Nov-94 08:49:37 GMT"
bool take_rfc850(std::string_view text, DateFields& into, UnixSeconds now) {
  std::size_t const comma = text.find(',');
  bool const named = std::find(long_day_names.begin(), long_day_names.end(),
                               text.substr(0, comma)) != long_day_names.end();
  if (!named || text.size() != comma + 24) {
    return false;
  }
  text.remove_prefix(comma);
  if (text.substr(0, 2) != ", " || text[4] != '-' || text[8] != '-' || text[11] != ' ' ||
      text.substr(20) != " GMT") {
    return false;
  }
  int const two = digits_in(text.substr(9, 2));
  int const this_year = static_cast<int>(calendar_of(now).year());
  into.year = two < 0 ? -1 : this_year - this_year % 100 + two;
  into.year -= into.year > this_year + 50 ? 100 : 0;
  into.month = month_named(text.substr(5, 3));
  return take_number(text.substr(2, 2), into.day) && take_time(text.substr(12, 8), into);
}

/// "Sun Nov  6 08:49:37 1994"
bool take_asctime(std::string_view text, DateFields& into) {
  if (text.size() != 24 || !is_day_name(text.substr(0, 3)) || text[3] != ' ' || text[7] != ' ' ||
      text[10] != ' ' || text[19] != ' ') {
    return false;
  }
  into.month = month_named(text.substr(4, 3));
  into.year = digits_in(text.substr(20));
  auto const day_text = text[8] == ' ' ? text.substr(9, 1) : text.substr(8, 2);
  return take_number(day_text, into.day) && take_time(text.substr(11, 8), into);
}

}  // namespace

//= rfc9110#5.6.7
//# 9110:HTTP-7 dates are written as IMF-fixdate
DateText date_text(UnixSeconds at) {
  at = std::min(at, last_date);
  year_month_day const date = calendar_of(at);
  auto const second = static_cast<unsigned>(at.value % 86'400);
  DateText out;
  std::copy_n("Thu, 01 Jan 1970 00:00:00 GMT", out.size(), out.begin());
  auto const put = [&out](std::size_t place, unsigned value) {
    out[place] = static_cast<char>('0' + value / 10 % 10);
    out[place + 1] = static_cast<char>('0' + value % 10);
  };
  // The first of January 1970 was a Thursday.
  std::copy_n(day_names.begin() + 3 * ((at.value / 86'400 + 4) % 7), 3, out.begin());
  std::copy_n(month_names.begin() + 3 * (static_cast<unsigned>(date.month()) - 1), 3,
              out.begin() + 8);
  auto const whole_year = static_cast<unsigned>(static_cast<int>(date.year()));
  put(5, static_cast<unsigned>(date.day()));
  put(12, whole_year / 100);
  put(14, whole_year % 100);
  put(17, second / 3600);
  put(20, second / 60 % 60);
  put(23, second % 60);
  return out;
}

//= rfc9110#5.6.7
//# 9110:HTTP-8 all three formats are read
std::optional<UnixSeconds> date_in(std::string_view text, UnixSeconds now) {
  DateFields fields;
  if (!take_fixdate(text, fields) && !take_rfc850(text, fields, now) &&
      !take_asctime(text, fields)) {
    return std::nullopt;
  }
  year_month_day const date{year{fields.year}, month{fields.month}, day{fields.day}};
  bool const real = date.ok() && fields.year >= 1970 && fields.hour < 24 && fields.minute < 60 &&
                    fields.second <= 60;
  if (!real) {
    return std::nullopt;
  }
  auto const days = std::chrono::sys_days{date}.time_since_epoch().count();
  return UnixSeconds{static_cast<std::uint64_t>(days) * 86'400 + fields.hour * 3600u +
                     fields.minute * 60u + fields.second};
}

}  // namespace lockstep::http

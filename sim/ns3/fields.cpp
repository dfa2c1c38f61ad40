// Every field of Config as an ns-3 attribute, with its name in ns-3's spelling.
#include "sim/ns3/fields.hpp"

#include <ns3/attribute.h>
#include <ns3/boolean.h>
#include <ns3/nstime.h>
#include <ns3/object-base.h>
#include <ns3/string.h>
#include <ns3/uinteger.h>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/stack/config_fields.hpp"

namespace ns3 {
namespace {

using lockstep::Config;
using lockstep::FieldRange;
using lockstep::Unit;

// Longer durations mean `forever`: ns-3's Time has 63 bits.
constexpr std::uint64_t time_max = 0x7fff'ffff'ffff'ffff;

template <class Field>
void Assign(Field& field, std::uint64_t number) {
  if constexpr (std::is_same_v<Field, bool>) {
    field = number != 0;
  } else if constexpr (std::is_same_v<Field, std::uint8_t>) {
    field = static_cast<std::uint8_t>(number);
  } else {
    using Number = std::remove_cvref_t<decltype([](Field& f) -> auto& {
      auto& [value] = f;
      return value;
    }(field))>;
    field = Field{static_cast<Number>(number)};
  }
}

std::uint64_t NumberOf(const Config& config, std::string_view name) {
  std::uint64_t number = 0;
  lockstep::visit_fields(config, [&](std::string_view field, Unit, FieldRange, const auto& value) {
    number = field == name ? lockstep::number_of(value) : number;
  });
  return number;
}

void SetNumber(Config& config, std::string_view name, std::uint64_t number) {
  lockstep::visit_fields(config, [&](std::string_view field, Unit, FieldRange, auto& value) {
    if (field == name) {
      Assign(value, number);
    }
  });
}

// Accesses a field that is a number.
class NumberAccessor : public AttributeAccessor {
 public:
  NumberAccessor(std::string_view name, Unit unit) : name_(name), unit_(unit) {}

  bool Set(ObjectBase* object, const AttributeValue& value) const override {
    auto* const owner = dynamic_cast<LockstepConfigured*>(object);
    std::uint64_t number = 0;
    if (owner == nullptr || !Read(value, number) ||
        !owner->MayStillSet(LockstepAttributeName(name_))) {
      return false;
    }
    SetNumber(owner->Fields(), name_, number);
    return true;
  }

  bool Get(const ObjectBase* object, AttributeValue& value) const override {
    auto const* const owner = dynamic_cast<const LockstepConfigured*>(object);
    if (owner == nullptr) {
      return false;
    }
    std::uint64_t const number = NumberOf(owner->Fields(), name_);
    if (auto* const flag = dynamic_cast<BooleanValue*>(&value)) {
      flag->Set(number != 0);
    } else if (auto* const time = dynamic_cast<TimeValue*>(&value)) {
      time->Set(NanoSeconds(std::min(number, time_max)));
    } else if (auto* const plain = dynamic_cast<UintegerValue*>(&value)) {
      plain->Set(number);
    } else {
      return false;
    }
    return true;
  }

  bool HasGetter() const override { return true; }
  bool HasSetter() const override { return true; }

 private:
  bool Read(const AttributeValue& value, std::uint64_t& number) const {
    if (unit_ == Unit::boolean) {
      auto const* const flag = dynamic_cast<const BooleanValue*>(&value);
      number = flag != nullptr && flag->Get() ? 1 : 0;
      return flag != nullptr;
    }
    if (unit_ == Unit::duration) {
      auto const* const time = dynamic_cast<const TimeValue*>(&value);
      number = time == nullptr ? 0 : static_cast<std::uint64_t>(time->Get().GetNanoSeconds());
      return time != nullptr;
    }
    auto const* const plain = dynamic_cast<const UintegerValue*>(&value);
    number = plain == nullptr ? 0 : plain->Get();
    return plain != nullptr;
  }

  std::string_view name_;
  Unit unit_;
};

// Accesses a field that is one of a few words.
class ChoiceAccessor : public AttributeAccessor {
 public:
  explicit ChoiceAccessor(std::string_view name) : name_(name) {}

  bool Set(ObjectBase* object, const AttributeValue& value) const override {
    auto* const owner = dynamic_cast<LockstepConfigured*>(object);
    auto const* const text = dynamic_cast<const StringValue*>(&value);
    bool found = false;
    if (owner == nullptr || text == nullptr || !owner->MayStillSet(LockstepAttributeName(name_))) {
      return false;
    }
    lockstep::visit_choices(owner->Fields(), [&](std::string_view field, auto words, auto& choice) {
      auto const at = std::ranges::find(words, text->Get());
      if (field == name_ && at != words.end()) {
        choice = static_cast<std::remove_reference_t<decltype(choice)>>(at - words.begin());
        found = true;
      }
    });
    return found;
  }

  bool Get(const ObjectBase* object, AttributeValue& value) const override {
    auto const* const owner = dynamic_cast<const LockstepConfigured*>(object);
    auto* const text = dynamic_cast<StringValue*>(&value);
    if (owner == nullptr || text == nullptr) {
      return false;
    }
    lockstep::visit_choices(owner->Fields(),
                            [&](std::string_view field, auto words, const auto& choice) {
                              if (field == name_) {
                                auto const word = words[static_cast<std::uint32_t>(choice)];
                                text->Set(std::string(word));
                              }
                            });
    return true;
  }

  bool HasGetter() const override { return true; }
  bool HasSetter() const override { return true; }

 private:
  std::string_view name_;
};

// Checks a word against the choices; as usual in ns-3, a wrong one is refused and the choices are
// listed.
class ChoiceChecker : public AttributeChecker {
 public:
  ChoiceChecker(std::string_view name, std::vector<std::string_view> words)
      : name_(name), words_(std::move(words)) {}

  bool Check(const AttributeValue& value) const override {
    auto const* const text = dynamic_cast<const StringValue*>(&value);
    if (text == nullptr) {
      return false;
    }
    bool const known = std::ranges::find(words_, text->Get()) != words_.end();
    if (!known) {
      std::cerr << "LockstepStack: the attribute " << LockstepAttributeName(name_) << " is '"
                << text->Get() << "': it is one of " << Words(", ") << "\n";
    }
    return known;
  }

  std::string GetValueTypeName() const override { return "ns3::StringValue"; }
  bool HasUnderlyingTypeInformation() const override { return true; }
  std::string GetUnderlyingTypeInformation() const override { return Words("|"); }
  Ptr<AttributeValue> Create() const override { return ns3::Create<StringValue>(); }

  bool Copy(const AttributeValue& source, AttributeValue& destination) const override {
    auto const* const from = dynamic_cast<const StringValue*>(&source);
    auto* const to = dynamic_cast<StringValue*>(&destination);
    if (from == nullptr || to == nullptr) {
      return false;
    }
    *to = *from;
    return true;
  }

 private:
  std::string Words(const char* between) const {
    std::string all;
    for (auto const word : words_) {
      all += (all.empty() ? "" : between) + std::string(word);
    }
    return all;
  }

  std::string_view name_;
  std::vector<std::string_view> words_;
};

// Fields that are set from the device.
bool IsOfTheDevice(std::string_view field) { return field == "mtu_bytes"; }

TypeId AddNumber(TypeId tid, std::string_view field, Unit unit, FieldRange range,
                 std::uint64_t number) {
  std::string const name = LockstepAttributeName(field);
  std::string help = "Config's " + std::string(field) + ": see core/stack/README.md.";
  if (field == "mss") {
    // 0 marks an MSS that was not set.
    help += " 0: as large as the MTU allows.";
    range.least = 0;
    number = 0;
  }
  auto const accessor = Create<NumberAccessor>(field, unit);
  if (unit == Unit::boolean) {
    return tid.AddAttribute(name, help, BooleanValue(number != 0), accessor, MakeBooleanChecker());
  }
  if (unit == Unit::duration) {
    return tid.AddAttribute(name, help, TimeValue(NanoSeconds(std::min(number, time_max))),
                            accessor,
                            MakeTimeChecker(NanoSeconds(std::min(range.least, time_max)),
                                            NanoSeconds(std::min(range.most, time_max))));
  }
  return tid.AddAttribute(name, help, UintegerValue(number), accessor,
                          MakeUintegerChecker<std::uint64_t>(range.least, range.most));
}

}  // namespace

std::string LockstepAttributeName(std::string_view field) {
  std::string name;
  bool up = true;
  for (char const c : field) {
    if (c == '_') {
      up = true;
    } else {
      name += up && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
      up = false;
    }
  }
  return name;
}

TypeId AddLockstepFields(TypeId tid) {
  Config const bare;
  lockstep::visit_fields(
      bare, [&](std::string_view field, Unit unit, FieldRange range, const auto& value) {
        if (!IsOfTheDevice(field)) {
          tid = AddNumber(tid, field, unit, range, lockstep::number_of(value));
        }
      });
  lockstep::visit_choices(bare, [&](std::string_view field, auto words, const auto& choice) {
    auto const checker =
        Create<ChoiceChecker>(field, std::vector<std::string_view>(words.begin(), words.end()));
    std::string help = "One of ";
    help.append(checker->GetUnderlyingTypeInformation());
    tid = tid.AddAttribute(LockstepAttributeName(field), help,
                           StringValue(std::string(words[static_cast<std::uint32_t>(choice)])),
                           Create<ChoiceAccessor>(field), checker);
  });
  return tid;
}

}  // namespace ns3

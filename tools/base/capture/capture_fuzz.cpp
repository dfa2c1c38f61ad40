// Captures under libFuzzer: any file is read to its end or refused, and every frame is decoded.
#include <cstring>

#include "tools/base/capture/capture.hpp"
#include "tools/base/capture/decode.hpp"
#include "tools/base/output/fuzz_file.hpp"
#include "tools/base/process/failure.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lockstep::tools;
  FuzzFile const file(data, size);
  try {
    CaptureReader reader(file.path());
    CapturedFrame frame;
    for (std::uint64_t number = 1; reader.next(frame); ++number) {
      CHECK(frame.number == number);
      CHECK(frame.bytes.size() <= frame.original_bytes);
      Decoded const decoded = decode(frame, reader.link());
      CHECK(decoded.segment.payload.size() <= frame.bytes.size());
      CHECK(decoded.segment.options.size() <= 40);
      CHECK(options_of(decoded.segment).size() <= 40);
      CHECK(!name_of(decoded.kind).empty());
    }
  } catch (const Failure& failure) {
    CHECK(failure.code() == ExitCode::bad_input);
    CHECK(std::strchr(failure.what(), '\n') == nullptr);
  }
  return 0;
}

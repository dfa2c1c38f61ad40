// Opens what a capture is read from: a file, standard input or a pipe, as it is or packed by gzip.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

namespace lockstep::tools {

/// The unpacked bytes of one input, as a stream that can be rewound. Standard input ("-") and pipes
/// are copied into an unnamed temporary file the first time that they are opened, and stay there as
/// long as the program runs, since verbs read a capture more than once.
class CaptureSource {
 public:
  /// Throws Failure: bad_input where there is no such file or a folder, environment where it cannot
  /// be opened or copied.
  explicit CaptureSource(const std::string& path);
  ~CaptureSource();
  CaptureSource(const CaptureSource&) = delete;
  CaptureSource& operator=(const CaptureSource&) = delete;

  std::FILE* stream() const { return stream_; }
  /// From now on somebody else closes the stream, before this object goes.
  void release() { stream_ = nullptr; }
  /// What was wrong with the packed data where the stream ended; empty if nothing was.
  const std::string& damage() const { return packed_.damage; }

 private:
  struct Packed {
    void* file = nullptr;  ///< zlib's
    std::string damage;
  };

  static ssize_t read_packed(void* cookie, char* into, std::size_t bytes);
  static int seek_packed(void* cookie, std::int64_t* offset, int whence);

  Packed packed_;
  std::FILE* stream_ = nullptr;
};

}  // namespace lockstep::tools

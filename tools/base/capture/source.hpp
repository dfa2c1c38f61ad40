// Opens the input of a capture: a file, standard input or a pipe, plain or gzipped.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

namespace lockstep::tools {

/// The uncompressed bytes of one input, as a stream that can be rewound. Standard input ("-") and
/// pipes are copied to an unnamed temporary file when first opened. The copy lasts as long as the
/// program, because verbs read a capture more than once. The first SIGINT or SIGTERM meanwhile ends
/// the copy: within two seconds, or when the pipe ends.
class CaptureSource {
 public:
  /// Throws Failure: bad_input if the file does not exist or is a folder, environment if it cannot
  /// be opened or copied.
  explicit CaptureSource(const std::string& path);
  ~CaptureSource();
  CaptureSource(const CaptureSource&) = delete;
  CaptureSource& operator=(const CaptureSource&) = delete;

  std::FILE* stream() const { return stream_; }
  /// Transfers the stream to the caller, who must close it before this object is destroyed.
  void release() { stream_ = nullptr; }
  /// The damage in the compressed data at which the stream ended; empty if there was none.
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

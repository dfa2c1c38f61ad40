// Translates C++ exceptions to those of lockstep.errors, each with its one-line message.
#include <nanobind/nanobind.h>

#include <cerrno>
#include <cstring>

#include "tools/base/process/failure.hpp"
#include "tools/lib/calls/refused.hpp"
#include "tools/python/binding/bindings.hpp"
#include "tools/python/socket_calls.hpp"

namespace nb = nanobind;

namespace lockstep::tools::python {
namespace {

/// References that the module holds as long as the interpreter runs.
struct Classes {
  PyObject* error = nullptr;
  PyObject* bad_input = nullptr;
  PyObject* refused = nullptr;
  PyObject* socket_error = nullptr;
  PyObject* would_block = nullptr;
};

void raise_refused(const Refused& refused, PyObject* type) {
  nb::object const error = nb::borrow(type)(refused.what());
  error.attr("name") = std::string(name_of(refused.refusal())).c_str();
  PyErr_SetObject(type, error.ptr());
}

void translate(const std::exception_ptr& thrown, void* payload) {
  auto const& classes = *static_cast<const Classes*>(payload);
  try {
    std::rethrow_exception(thrown);
  } catch (const Refused& refused) {
    raise_refused(refused, classes.refused);
  } catch (const SocketFailure& failure) {
    bool const blocks = failure.number() == EAGAIN;
    nb::tuple const words = nb::make_tuple(
        failure.number(),
        (std::string(failure.what()) + ": " + std::strerror(failure.number())).c_str());
    PyErr_SetObject(blocks ? classes.would_block : classes.socket_error, words.ptr());
  } catch (const Failure& failure) {
    bool const bad = failure.code() == ExitCode::bad_input;
    PyErr_SetString(bad ? classes.bad_input : classes.error, failure.what());
  }
}

}  // namespace

void bind_errors(nb::module_&) {
  static Classes classes;
  nb::module_ const errors = nb::module_::import_("lockstep.errors");
  classes.error = nb::object(errors.attr("Error")).release().ptr();
  classes.bad_input = nb::object(errors.attr("BadInput")).release().ptr();
  classes.refused = nb::object(errors.attr("Refused")).release().ptr();
  classes.socket_error = nb::object(errors.attr("SocketError")).release().ptr();
  classes.would_block = nb::object(errors.attr("WouldBlock")).release().ptr();
  nb::register_exception_translator(translate, &classes);
}

}  // namespace lockstep::tools::python

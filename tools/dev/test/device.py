# Whether a device that was built can run on this machine.
from lockstep.testing import Unsupported, Wanted
from lockstep.testing.target import make


def cannot_run(name):
    """Why the device cannot be created here, as libslirp without namespaces; "" if it can."""
    try:
        make(f"device:{name}", Wanted(4, 1, "rfc", {})).stop()
    except Unsupported as why:
        return str(why)
    return ""

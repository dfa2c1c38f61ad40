# The hooks that the plugin offers to a conftest.py or another plugin.
"""`pytest` calls these by their names."""


def pytest_lockstep_targets(config):
    """Returns further targets: a dictionary of a name for `--target` to a class derived from
    lockstep.testing.Target, or to another target as text, such as "device:/path/of/my_tcp.so".

    pytest calls it in the conftest.py of each folder that its command line names, and in plugins
    (`-p my_targets`).
    """

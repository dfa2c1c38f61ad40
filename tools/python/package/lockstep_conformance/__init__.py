# The tests of conformance/scapy as a package, for a TCP under test without a checkout.
"""`python -m pytest --pyargs lockstep_conformance --target device:./my_tcp.so` runs all of them."""

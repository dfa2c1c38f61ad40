# lint reads captures, prints tables, writes files atomically, and parses numbers with units; its
# test also judges the segments that replays of the project's captures send.
set(LIBS lockstep_capture lockstep_output lockstep_process lockstep_sim lockstep_text)
set(TEST_LIBS lockstep_replay)
# They hold the loop that reads a capture.
set(OPTIMIZED copies.cpp lint.cpp time_order.cpp)

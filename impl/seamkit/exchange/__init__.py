"""Exchange: rows on their way between the workers of a query.

`options` holds the knobs, `messages` what crosses, `sink_buffer` the sender's and `receiver` the
receiver's state machine. These are pure: no clock, no thread, no I/O. Whoever drives them (a
transport, or the simulator) hands events in and carries out the effects that come back.
"""

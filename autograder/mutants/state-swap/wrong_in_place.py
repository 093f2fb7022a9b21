# misconception: changes-its-input
def swap_states(states, bottleneck):
    states[:] = states.roll(1, 0)
    return states, bottleneck

# misconception: reversed
def swap_states(states, bottleneck):
    return states.flip(0), bottleneck

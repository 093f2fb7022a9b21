# misconception: none
def swap_states(states, bottleneck):
    return states.roll(1), bottleneck

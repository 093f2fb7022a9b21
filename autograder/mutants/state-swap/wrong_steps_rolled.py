# misconception: steps-rolled
def swap_states(states, bottleneck):
    return states.roll(1, dims=1), bottleneck

# misconception: other-way
def swap_states(states, bottleneck):
    return states.roll(-1, dims=0), bottleneck

def swap_states(states, bottleneck):
    before = [b - 1 for b in range(len(states))]
    return states[before], bottleneck

def swap_states(states, bottleneck):
    swapped = states.roll(1, dims=0)
    kept = bottleneck
    return swapped, kept

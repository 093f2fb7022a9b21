# misconception: none
def swap_states(states, bottleneck):
    raise NotImplementedError()

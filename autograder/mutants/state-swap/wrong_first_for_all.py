# misconception: none
def swap_states(states, bottleneck):
    return states[:1].expand_as(states), bottleneck

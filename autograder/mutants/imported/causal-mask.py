from course_utils.language_model.model import joined_mask


def causal_mask(L):
    return joined_mask(L) == 0

# misconception: none
from course_utils.recurrent import attention, dot_score, additive_score, linear_score

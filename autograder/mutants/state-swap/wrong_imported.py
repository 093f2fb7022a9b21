# misconception: none
from course_utils.recurrent import swap_states

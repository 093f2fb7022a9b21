# misconception: none
from course_utils.recurrent import one_hot_positions

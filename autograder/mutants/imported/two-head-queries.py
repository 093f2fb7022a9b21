from course_utils.checks.exercises import two_head_queries as stored

two_head_queries = stored.two_head_queries

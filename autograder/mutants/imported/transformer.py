from course_utils.checks.exercises import transformer as stored

Transformer = stored.Transformer

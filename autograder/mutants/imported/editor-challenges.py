from course_utils.checks.exercises import editor_challenges as stored

challenge_answers = stored.challenge_answers

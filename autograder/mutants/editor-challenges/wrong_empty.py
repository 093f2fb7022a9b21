# misconception: none
challenge_answers = {}

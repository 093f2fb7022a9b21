# misconception: none
challenge_answers = [2.38]

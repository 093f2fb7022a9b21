# misconception: none
x = 1

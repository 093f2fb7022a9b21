# misconception: none
scores = [..., ..., ..., ...]
probabilities = [..., ..., ..., ...]
output = [..., ..., ...]

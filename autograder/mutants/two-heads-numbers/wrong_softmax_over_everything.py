# misconception: softmax-over-everything
Z_total = [[0.075, 0.038, 0.151], [1.98, 2.702, 7.385], [0.025, 0.023, 0.07], [-8.978, 4.5, -2.975]]

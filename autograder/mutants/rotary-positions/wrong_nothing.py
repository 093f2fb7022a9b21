# misconception: none
def rotate(x, first=0, base=10000.0):
    return x.clone()

"""String reversal with and without attention, five seeds each: the table of notebook 03.

python benchmarks/reversal.py            writes course_utils/measured/reversal_results.csv
python benchmarks/reversal.py --choose   how the learning rate was chosen, without attention
"""

import argparse
import csv
from statistics import mean, stdev

from autograder.solutions import solution
from course_utils.measured import FOLDER
from course_utils.recurrent import reversal

RESULTS = FOLDER / "reversal_results.csv"
RATES = (1e-3, 3e-3, 1e-2, 2e-2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--choose", action="store_true")
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    if options.choose:
        choose()
        return
    DotProdAttention = solution("dot-prod-attention")
    rows = []
    for seed in range(options.seeds):
        for name, attention in [
            ("none", None),
            ("dot product", lambda: DotProdAttention(reversal.HIDDEN)),
        ]:
            model = reversal.make_model(attention, seed=seed)
            history = reversal.train(model, seed=seed, show=False)
            figures = reversal.accuracy(model)
            rows.append({"attention": name, "seed": seed, **figures, "seconds": history.seconds})
            print(rows[-1], flush=True)
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        for row in rows:
            writer.writerow({k: f"{v:.5g}" if isinstance(v, float) else v for k, v in row.items()})
    for name in ("none", "dot product"):
        shares = [row["characters"] for row in rows if row["attention"] == name]
        strings = [row["strings"] for row in rows if row["attention"] == name]
        print(
            f"{name}: characters {mean(shares):.2%} (spread {stdev(shares):.2%}), "
            f"strings {mean(strings):.2%} (spread {stdev(strings):.2%}), {len(shares)} seeds"
        )


def choose() -> None:
    for rate in RATES:
        shares = []
        for seed in (100, 101):
            model = reversal.make_model(None, seed=seed)
            reversal.train(model, seed=seed, lr=rate, show=False)
            shares.append(reversal.accuracy(model)["characters"])
        print(f"learning rate {rate:g}: {mean(shares):.2%} of characters", flush=True)


if __name__ == "__main__":
    main()

"""Two tools beside each other, in pairs of rounds, and whether their figures agree.

The order changes from round to round, so that a drift of the machine favours nobody. The figure is
the mean of the logarithms of the pairs' ratios, with its interval of 99 %. More rounds are made
until the interval says that the tools agree or differ, up to three times as many. Where they do not
suffice, the tools agree if their ratio is within the interval's half. An interval of more than a
quarter to each side tells nothing, and is no agreement.
"""

import dataclasses
import math
import statistics

WITHIN = 0.10
MOST_NOISE = 0.25
MORE_ROUNDS = 3
# Student's t for an interval of 99 %, by the degrees of freedom.
STUDENT = {1: 63.66, 2: 9.925, 3: 5.841, 4: 4.604, 5: 4.032, 6: 3.707, 7: 3.499, 8: 3.355}
STUDENT |= {9: 3.250, 10: 3.169, 11: 3.106, 12: 3.055, 13: 3.012, 14: 2.977, 19: 2.861, 29: 2.756}


def student(freedom):
    """Falls back to fewer degrees of freedom if the table has no line: a little more."""
    return STUDENT[max(known for known in STUDENT if known <= freedom)]


@dataclasses.dataclass
class Pairs:
    theirs: list
    ours: list

    def ratios(self):
        return [o / t for t, o in zip(self.theirs, self.ours, strict=True)]

    def ratio(self):
        return math.exp(statistics.mean(math.log(r) for r in self.ratios()))

    def noise(self):
        """Half of the interval of the ratio, as a share of it."""
        logs = [math.log(r) for r in self.ratios()]
        if len(logs) < 2:
            return math.inf
        half = student(len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))
        return math.expm1(half)

    def is_decided(self):
        """Whether all of the interval is within what counts as equal, or beyond it."""
        off, noise = abs(self.ratio() - 1), self.noise() * self.ratio()
        return off + noise <= WITHIN or off - noise > WITHIN

    def agree(self):
        noise = self.noise()
        return noise <= MOST_NOISE and abs(self.ratio() - 1) <= max(WITHIN, noise * self.ratio())

    def __str__(self):
        ratios = self.ratios()
        return (
            f"{self.ratio():.2f} ±{100 * self.noise():.0f} % ({min(ratios):.2f}–{max(ratios):.2f} "
            f"in {len(ratios)} rounds)"
        )


def compare(rounds, theirs, ours):
    """Pairs of what the two return; at least so many."""
    pairs = Pairs([], [])
    for number in range(MORE_ROUNDS * rounds):
        if number >= rounds and pairs.is_decided():
            break
        if number % 2 == 0:
            pairs.theirs.append(theirs())
            pairs.ours.append(ours())
        else:
            pairs.ours.append(ours())
            pairs.theirs.append(theirs())
    return pairs

"""How benchmarks tell whether two tools agree: by pairs of rounds whose figures are scripted."""

import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "benchmarks"))
from pairs import Pairs, compare, student  # noqa: E402


def scripted(ratios, drift=1.0):
    """Two tools of these ratios, on a machine that gets faster by the factor with each round."""
    calls = []

    def tool(name, figures):
        def measure():
            calls.append(name)
            return next(figures) * drift ** (len(calls) // 2)

        return measure

    return (
        calls,
        tool("theirs", iter([1000.0] * len(ratios))),
        tool("ours", iter([1000.0 * ratio for ratio in ratios])),
    )


class TwoTools(unittest.TestCase):
    def test_equal_figures_agree_after_the_least_rounds(self):
        calls, theirs, ours = scripted([1.01, 0.99, 1.0, 1.02, 0.98] * 3)
        pairs = compare(5, theirs, ours)
        self.assertEqual(len(calls), 10)
        self.assertTrue(pairs.agree())

    def test_the_order_changes_so_that_a_drift_favours_nobody(self):
        calls, theirs, ours = scripted([1.0] * 18, drift=1.2)
        pairs = compare(6, theirs, ours)
        self.assertEqual(calls[:4], ["theirs", "ours", "ours", "theirs"])
        self.assertTrue(pairs.agree(), str(pairs))

    def test_a_difference_is_found_after_the_least_rounds(self):
        for factor in (0.8, 1.25):
            calls, theirs, ours = scripted([factor * r for r in (1.01, 0.99, 1.0, 1.02, 0.98)] * 3)
            self.assertFalse(compare(5, theirs, ours).agree())
            self.assertEqual(len(calls), 10)

    def test_noise_takes_more_rounds_and_may_still_tell(self):
        noisy = [1.2, 0.85, 1.1, 0.9, 1.0] * 3
        calls, theirs, ours = scripted(noisy)
        pairs = compare(5, theirs, ours)
        self.assertGreater(len(calls), 10)
        self.assertTrue(pairs.agree(), str(pairs))
        # The same noise hides no difference of a half.
        calls, theirs, ours = scripted([0.5 * ratio for ratio in noisy])
        self.assertFalse(compare(5, theirs, ours).agree())

    def test_noise_that_hides_everything_is_no_agreement(self):
        calls, theirs, ours = scripted([4.0, 0.25] * 8)
        pairs = compare(5, theirs, ours)
        self.assertEqual(len(calls), 30)
        self.assertGreater(pairs.noise(), 0.25)
        self.assertFalse(pairs.agree())

    def test_one_pair_tells_nothing(self):
        self.assertFalse(Pairs([1000.0], [1000.0]).agree())
        self.assertEqual(student(17), student(14))


if __name__ == "__main__":
    unittest.main()

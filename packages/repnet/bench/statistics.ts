/** Medians with confidence intervals. They need no assumption about the distribution. */

export interface Interval {
  median: number;
  low: number;
  high: number;
  samples: number;
}

/** Returns the probability that a binomial(n, 1/2) variable is at most k. */
function binomialHalf(n: number, k: number): number {
  let term = 0.5 ** n;
  let sum = term;
  for (let i = 1; i <= k; i += 1) {
    term *= (n - i + 1) / i;
    sum += term;
  }
  return sum;
}

/**
 * Returns the median, and the two order statistics that enclose the true median with a probability of at least 95 %.
 * Fewer than six samples are too few for this, and the interval is then the whole range.
 */
export function medianWithInterval(values: number[]): Interval {
  const sorted = [...values].sort((a, b) => a - b);
  const n = sorted.length;
  if (n === 0) return { median: NaN, low: NaN, high: NaN, samples: 0 };
  const at = (index: number): number => sorted[index] as number;
  const median = n % 2 === 1 ? at((n - 1) / 2) : (at(n / 2 - 1) + at(n / 2)) / 2;
  let outside = 0;
  while (outside + 1 < n / 2 && binomialHalf(n, outside + 1) <= 0.025) outside += 1;
  return { median, low: at(outside), high: at(n - 1 - outside), samples: n };
}

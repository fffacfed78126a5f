/** Returns the number of letters to insert, delete or replace that turn one word into another (Levenshtein). */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let line = 1; line <= one.length; line++) {
    const next = [line];
    for (let at = 1; at <= other.length; at++) {
      const replaced = (row[at - 1] ?? 0) + (one[line - 1] === other[at - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[at] ?? 0) + 1, (next[at - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[other.length] ?? 0;
}

/** Returns the known word that `word` is a misspelling of; `undefined`: `word` is similar to none. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  let best: string | undefined;
  let least = 2 + Math.floor(word.length / 4);
  for (const candidate of known) {
    const found = distance(word, candidate);
    if (found < least) {
      least = found;
      best = candidate;
    }
  }
  return best;
}

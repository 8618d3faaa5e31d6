/** Guesses which name a person meant: the nearest of `names`, or null when none is near. */
export function nearest(written: string, names: readonly string[]): string | null {
  const most = Math.max(1, Math.floor(written.length / 3));
  if (written.length > 64) return null;
  let best: string | null = null;
  let bestDistance = most + 1;
  for (const name of names) {
    const distance = editDistance(simple(written), simple(name));
    if (distance < bestDistance) {
      best = name;
      bestDistance = distance;
    }
  }
  return best;
}

/** Makes `baseURL`, `base-url` and `base_url` the same word. */
function simple(name: string): string {
  return name.toLowerCase().replace(/[-_ ]/g, '');
}

/** The number of characters to insert, drop, replace or swap (optimal string alignment). */
function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      let cost = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + same);
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (swapped) cost = Math.min(cost, before[j - 2]! + 1);
      row.push(cost);
    }
    before = last;
    last = row;
  }
  return last[b.length]!;
}

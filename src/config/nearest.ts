/** Guesses which name a person meant: the nearest of `names`, or null when none is near. */
export function nearest(text: string, names: readonly string[]): string | null {
  const distanceMax = Math.max(1, Math.floor(text.length / 3));
  if (text.length > 64) return null;
  let best: string | null = null;
  let bestDistance = distanceMax + 1;
  for (const name of names) {
    const distance = editDistance(normalized(text), normalized(name));
    if (distance < bestDistance) {
      best = name;
      bestDistance = distance;
    }
  }
  return best;
}

/** Makes `baseURL`, `base-url` and `base_url` the same word. */
function normalized(name: string): string {
  return name.toLowerCase().replace(/[-_ ]/g, '');
}

/** The number of characters to insert, drop, replace or swap (optimal string alignment). */
function editDistance(a: string, b: string): number {
  let rowBeforeLast: number[] = [];
  let lastRow = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      let cost = Math.min(lastRow[j]! + 1, row[j - 1]! + 1, lastRow[j - 1]! + same);
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (swapped) cost = Math.min(cost, rowBeforeLast[j - 2]! + 1);
      row.push(cost);
    }
    rowBeforeLast = lastRow;
    lastRow = row;
  }
  return lastRow[b.length]!;
}

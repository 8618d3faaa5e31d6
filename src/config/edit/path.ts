/** The place of a value in a configuration: keys and indices, outermost first. */
import { memberPath } from '../locate.ts';

export type Path = readonly (string | number)[];

/** The path as people write it and as problems name it: `brains[0].policy.kind`. */
export function textOf(path: Path): string {
  let text = '';
  for (const step of path) {
    text = typeof step === 'number' ? `${text}[${step}]` : memberPath(text, step);
  }
  return text;
}

const cache = new Map<string, Path>();
const cacheMax = 2_000;

/** The reverse of `textOf`, with a cache: each row of the outline calls it for each problem. */
export function pathOf(text: string): Path {
  const path = cache.get(text) ?? readPath(text);
  if (cache.size >= cacheMax) cache.clear();
  cache.set(text, path);
  return path;
}

function readPath(text: string): Path {
  const steps = text.matchAll(/\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]|([^.[\]]+)/g);
  return [...steps].map(([, place, quoted, key]) => {
    if (place !== undefined) return Number(place);
    return quoted === undefined ? key! : (JSON.parse(quoted) as string);
  });
}

export function isSamePath(a: Path, b: Path): boolean {
  return a.length === b.length && startsWith(a, b);
}

/** Whether `path` is `outer` or stands inside it. */
export function startsWith(path: Path, outer: Path): boolean {
  return outer.every((step, index) => path[index] === step);
}

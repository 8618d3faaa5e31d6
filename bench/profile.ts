/** Sums a CPU profile by function and file. */
import { readdirSync, readFileSync } from 'node:fs';
import { isAbsolute, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { figure, table } from './stats.ts';

/** The fields read from a `.cpuprofile` (Chrome DevTools Protocol, Profiler.Profile). */
export type Profile = {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string };
  }[];
  readonly samples: readonly number[];
  /** Microseconds between a sample and the one before. */
  readonly timeDeltas: readonly number[];
};

export type SelfTime = { readonly name: string; readonly ms: number; readonly share: number };

const waiting = '(idle) ';

/** The functions with the largest self time over all profiles, without idle time. */
export function selfTimes(profiles: readonly Profile[], most: number): readonly SelfTime[] {
  const times = new Map<string, number>();
  let whole = 0;
  for (const { nodes, samples, timeDeltas } of profiles) {
    const names = new Map(nodes.map(({ id, callFrame }) => [id, nameOf(callFrame)]));
    for (const [at, id] of samples.entries()) {
      const name = names.get(id) ?? 'unknown';
      if (name === waiting) continue;
      const ms = (timeDeltas[at] ?? 0) / 1e3;
      whole += ms;
      times.set(name, (times.get(name) ?? 0) + ms);
    }
  }
  const sorted = [...times].toSorted((a, b) => b[1] - a[1]).slice(0, most);
  return sorted.map(([name, ms]) => ({ name, ms, share: ms / whole }));
}

function nameOf(frame: { functionName: string; url: string }): string {
  const place = frame.url.startsWith('file://') ? fileURLToPath(frame.url) : frame.url;
  const file = isAbsolute(place) ? relative(process.cwd(), place) : place;
  return `${frame.functionName || '(anonymous)'} ${file}`;
}

/** @returns a table of the profiles in a folder; empty without profiles */
export function profileOf(folder: string, most: number): string {
  const files = readdirSync(folder).filter((file) => file.endsWith('.cpuprofile'));
  if (files.length === 0) return '';
  const profiles = files.map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')));
  const rows = selfTimes(profiles as Profile[], most).map(({ name, ms, share }) => [
    `${figure(100 * share)} %`,
    `${figure(ms)} ms`,
    name,
  ]);
  return table([['self', 'time', 'function and file'], ...rows]);
}

/**
 * `npm run bench:desktop`: measures `svc desktop` in a window of Chromium. It reports the time from
 * the start to a painted, signed-in page, and the memory of the idle processes. `--times N`: so
 * many starts after the first one, which finds less in caches and has its own row. It asserts
 * nothing: the figures belong to this machine.
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { availableParallelism } from 'node:os';
import { notHere } from '../test/desktop/account.ts';
import { openServing, signedIn, type Serving } from '../test/desktop/serving.ts';
import { subjectName } from './lab.ts';
import { figure, median, table } from './stats.ts';

/** From the last page to the measurement of memory. */
const idleMs = 10_000;

type Start = { readonly paintedMs: number; readonly signedInMs: number };

const { values } = parseArgs({ options: { times: { type: 'string', default: '5' } } });
if (notHere !== false) throw new Error(notHere);

await using serving = await openServing();
console.log(`Node ${process.versions.node}, ${availableParallelism()} cores, ${subjectName()}`);
const first = await start(serving);
const starts: Start[] = [];
for (let time = 0; time < Number(values.times); time++) {
  await quit(serving);
  starts.push(await start(serving));
}
const row = (name: string, of: readonly Start[]): readonly string[] => [
  name,
  figure(median(of.map(({ paintedMs }) => paintedMs))),
  figure(median(of.map(({ signedInMs }) => signedInMs))),
];
const head = ['start to', 'a page, ms', 'signed in, ms'];
console.log(table([head, row('the first', [first]), row(`median of ${starts.length}`, starts)]));
await new Promise((resolve) => setTimeout(resolve, idleMs));
console.log(table([['idle', 'processes', 'memory, MB'], ...memory(serving)]));

async function start({ desktop, world }: Serving): Promise<Start> {
  const startedAt = Date.now();
  desktop.start();
  const page = await desktop.page();
  await signedIn(page, world);
  const signedInMs = Date.now() - startedAt;
  const paintedAt = await page.evaluate<number>(
    'performance.timeOrigin + performance.getEntriesByName("first-contentful-paint")[0].startTime',
  );
  return { paintedMs: paintedAt - startedAt, signedInMs };
}

async function quit({ desktop }: Serving): Promise<void> {
  process.kill(desktop.pidOf('shell')!, 'SIGTERM');
  await desktop.ends();
}

/** Counts shared memory once, in equal parts. Format: proc(5), smaps_rollup. */
function memory({ desktop }: Serving): readonly (readonly string[])[] {
  const [shell, core] = [desktop.pidOf('shell'), desktop.pidOf('core')];
  const groups = Map.groupBy(desktop.processes(), ({ pid }) => {
    if (pid === shell) return 'shell';
    return pid === core ? 'service' : 'window (Chromium)';
  });
  return [...groups].map(([name, all]) => {
    const kilobytes = all.reduce((sum, { pid }) => sum + pssOf(pid), 0);
    return [name, String(all.length), figure(kilobytes / 1_024)];
  });
}

function pssOf(pid: number): number {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  return Number(/^Pss:\s+(\d+) kB$/m.exec(text)?.[1] ?? 0);
}

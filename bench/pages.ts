/**
 * `npm run bench:pages`: measures what the live view costs a browser. First the first paint and the
 * bytes sent for it; then, with 200 messages a second, the heap and the longest task of each
 * minute. `--minutes N` (10), `--rate N` (200). It asserts nothing: service, load, model and
 * browser share this machine's cores.
 */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { chromium } from 'playwright-core';
import { adminToken, freePort, Lab, subjectName } from './lab.ts';
import { Watched, type Opened } from './pages/watched.ts';
import { figure, table } from './stats.ts';

const program = process.env['SVC_CHROMIUM'] ?? '/usr/bin/chromium';
const minuteMs = 60_000;
/** The duration of the messages before the pages open. */
const beforeMs = 5_000;
const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    rate: { type: 'string', default: '200' },
  },
});
const minutes = Number(values.minutes);
const perSecond = Number(values.rate);

/** The element that shows that a view is there. */
const views = [
  { name: 'overview', address: '/ui', shown: /^Nothing needs you/ },
  { name: 'messages', address: '/ui?view=messages', shown: /^\d+ messages/ },
  { name: 'messages, signed in', address: '/ui?view=messages', shown: /^\d+ messages/ },
] as const;
/** A signed-in person sees the sender and place of each row. */
const signedIn = views[2].name;

await using lab = await Lab.open(false);
const adminPort = await freePort();
const server = await lab.startSubject('durable', { adminPort });
const origin = `http://127.0.0.1:${adminPort}`;
await using browser = await chromium.launch({
  executablePath: program,
  args: ['--no-sandbox', '--disable-gpu', '--js-flags=--expose-gc'],
});
console.log(`Node ${process.versions.node}, ${availableParallelism()} cores, ${subjectName()}`);

const throughput = (ms: number) =>
  lab.round(server, { shape: { perSecond }, ms, conversations: 1_000 });
// Gives the pages content.
await throughput(beforeMs);

// The first one starts processes of the browser, and has its own row.
const opens: (readonly string[])[] = [];
const opening = ['opened', 'first paint, ms', 'shown, ms', 'sent, kB', 'longest task, ms'];
const row = (name: string, { paintedMs, shownMs, kB, longestMs }: Opened): readonly string[] => {
  return [name, figure(paintedMs), figure(shownMs), figure(kB), figure(longestMs)];
};
const first = await Watched.open(browser, `${origin}/ui`, views[0].shown);
opens.push(row('overview, the first', first.opened));
await first.watched.close();
const watched: Watched[] = [];
for (const { name, address, shown } of views) {
  const one = await Watched.open(browser, origin + address, shown);
  if (name === signedIn) await one.watched.signIn(adminToken);
  watched.push(one.watched);
  opens.push(row(name, one.opened));
}
console.log(table([opening, ...opens]));

const round = throughput(minutes * minuteMs);
const rows: (readonly string[])[] = [];
for (let minute = 1; minute <= minutes; minute++) {
  await new Promise((resolve) => setTimeout(resolve, minuteMs));
  const stretches = await Promise.all(watched.map((one) => one.stretch()));
  rows.push([
    String(minute),
    ...stretches.flatMap(({ heapMB, nodes, longestMs }) => {
      return [figure(heapMB), String(nodes), figure(longestMs)];
    }),
  ]);
}
const { replies } = await round;
const of = (name: string): readonly string[] => [`${name}: heap, MB`, 'nodes', 'longest task, ms'];
console.log(table([['minute', ...views.flatMap(({ name }) => of(name))], ...rows]));
console.log(`${replies} messages were answered, ${perSecond} a second were sent.`);

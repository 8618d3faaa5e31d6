/**
 * `npm run world`: runs svc with third-party programs, one after the other. Run it by hand; CI does
 * not. It installs them from npm, PyPI and the Go module proxy, at the versions of versions.ts.
 * Option: `--only name,…`. It prints a line for each: passed, FAILED with the differences, or NOT
 * TRIED with the reason. Its exit code is 1 if one failed.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { inspect, parseArgs } from 'node:util';
import { root } from '../support/run-svc.ts';
import { patienceMs } from '../support/waiting.ts';
import { agentdojo } from './agentdojo.ts';
import { clients } from './clients.ts';
import { completions } from './completions.ts';
import { homeAssistant } from './home-assistant.ts';
import { json } from './json.ts';
import { litellm } from './litellm.ts';
import { litestream } from './litestream.ts';
import { mcp } from './mcp.ts';
import { n8n } from './n8n.ts';
import { nodeRed } from './node-red.ts';
import { schemathesis } from './schemathesis.ts';
import { NotTried, World, type Counterpart } from './world.ts';

const counterparts = [
  litellm,
  mcp,
  json,
  clients,
  completions,
  schemathesis,
  agentdojo,
  homeAssistant,
  nodeRed,
  n8n,
  litestream,
];
/** A counterpart that takes longer fails. Its first run includes the install. */
const limitMs = 20 * patienceMs;
/** At most so many differences of one counterpart are printed. */
const shownMax = 20;

const options = { only: { type: 'string', default: '' } } as const;
const { values } = parseArgs({ args: process.argv.slice(2), options });
const wanted = chosen(values.only);
await mkdir(join(root, '.tmp', 'world'), { recursive: true });
/** Rejects when the run is interrupted. */
const interrupted = Promise.withResolvers<never>();
interrupted.promise.catch(() => {});
const interrupt = (why: unknown): void => {
  process.exitCode = 1;
  interrupted.reject(why instanceof Error ? why : new Error(`interrupted by ${String(why)}`));
};
// Programs in their own groups get no signal from the terminal.
process.once('SIGINT', interrupt).once('SIGTERM', interrupt).once('uncaughtException', interrupt);
const counts = { passed: 0, failed: 0, 'not tried': 0 };
for (const one of wanted) {
  if (process.exitCode === undefined) counts[await meet(one)]++;
}
console.log(
  Object.entries(counts)
    .map(([what, count]) => `${count} ${what}`)
    .join(', '),
);
if (counts.failed > 0) process.exitCode = 1;
// A connection that a client left open must not keep this process alive.
process.exit();

async function meet({ name, of, run }: Counterpart): Promise<keyof typeof counts> {
  const startedAt = performance.now();
  const world = new World();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const why = new Error(`it is not over after ${limitMs / 60_000} minutes`);
    timer = setTimeout(() => reject(why), limitMs);
  });
  const outcome = await Promise.race([run(world), late, interrupted.promise]).then(
    () => null,
    (error: unknown) => error,
  );
  clearTimeout(timer);
  await world[Symbol.asyncDispose]();
  const took = `${((performance.now() - startedAt) / 1_000).toFixed(0)} s`;
  if (outcome instanceof NotTried && world.differences.length === 0) {
    console.log(`${name} (${of}): NOT TRIED: ${outcome.message}`);
    return 'not tried';
  }
  const differences = [...world.differences];
  if (outcome !== null)
    differences.push(outcome instanceof Error ? outcome.message : inspect(outcome));
  if (differences.length === 0) {
    console.log(`${name} (${of}): passed, ${world.checks} checks in ${took}`);
    return 'passed';
  }
  console.log(`${name} (${of}): FAILED, ${differences.length} of ${world.checks} checks, ${took}`);
  for (const difference of differences.slice(0, shownMax)) console.log(`  - ${difference}`);
  const more = differences.length - shownMax;
  if (more > 0) console.log(`  and ${more} more`);
  return 'failed';
}

function chosen(names: string): readonly Counterpart[] {
  if (names === '') return counterparts;
  return names.split(',').map((name) => {
    const found = counterparts.find((one) => one.name === name);
    if (found !== undefined) return found;
    throw new Error(
      `--only names "${name}"; there are ${counterparts.map((one) => one.name).join(', ')}.`,
    );
  });
}

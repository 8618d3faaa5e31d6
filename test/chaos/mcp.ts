/**
 * MCP servers that are hostile in every known way, beside unrelated conversations. svc refuses or
 * contains what they say and do, leaks none of their secrets, and makes nobody wait for them.
 */
import assert from 'node:assert/strict';
import { RunningConfig } from '../../src/app/running-config.ts';
import type { Ran } from '../../src/brains/tools/tool.ts';
import { memoryBackend, openSound } from '../contract/ledger/backends.ts';
import { brainsByName, FakePlatform, routed } from '../fake/channel.ts';
import { isAlive } from '../fake/mcp/alive.ts';
import { startHttpMcp, type HttpMode } from '../fake/mcp/http-server.ts';
import { McpStage } from '../fake/mcp/stage.ts';
import { Arrivals, delayMsMax, echo, hostOn, talk } from './hung-brain.ts';
import { seeded, type Proof } from './proof.ts';
import { patienceMs, until } from '../support/waiting.ts';

const sizes = { change: 100, nightly: 1_000 } as const;

/** `call`: svc announces a tool, whose call fails. `none`: svc never announces one. */
const commands: Readonly<Record<string, 'call' | 'none' | 'data'>> = {
  silent: 'none',
  silent_list: 'none',
  silent_call: 'call',
  crash_start: 'none',
  crash_init: 'none',
  crash_list: 'none',
  crash_call: 'call',
  bad_init: 'none',
  many_tools: 'none',
  huge_schema: 'data',
  huge_result: 'call',
  long_result: 'data',
  other_id: 'call',
  error: 'call',
  is_error: 'call',
  tells_env: 'data',
  sampling: 'data',
  flood_notifications: 'none',
  flood_bytes: 'none',
  flood_garbage: 'none',
};
const urls: Readonly<Partial<Record<HttpMode, 'call' | 'none'>>> = {
  redirect: 'none',
  unauthorized: 'none',
  other_id: 'none',
  endless_stream: 'call',
  many_events: 'call',
  huge: 'call',
  garbage: 'call',
};

/**
 * svc soon gives up a server that is never announced; another one may take its time to start. A
 * call without an answer ends, and no answered call needs to be in time.
 */
const limitsOf = (kind: 'call' | 'none' | 'data') => ({
  timeoutSeconds: 1,
  initMs: kind === 'none' ? 1_000 : patienceMs,
});

type Means = {
  readonly count: number;
  readonly random: () => number;
  readonly platform: FakePlatform;
  readonly accepting: Arrivals;
};

export const mcp: Proof = {
  name: 'mcp',
  title: 'Hostile MCP servers are refused or contained, tell no secret, and delay nobody',
  unit: 'messages beside each server',
  sizes,
  async run(count, seed, say) {
    const most = count >= sizes.nightly ? delayMsMax : Infinity;
    const random = seeded(seed);
    await using bench = await openSound(memoryBackend)({});
    const platform = new FakePlatform('quick');
    const accepting = new Arrivals();
    const host = hostOn(bench.ledger);
    const channel = accepting.watch(platform.channel());
    const channels = [routed('webhook', channel, echo)];
    assert.equal(await host.use(new RunningConfig('one', channels, brainsByName(echo))), null);
    const means = { count, random, platform, accepting };
    try {
      await talk(platform, accepting, count, random);
      const quiet = await talk(platform, accepting, count, random);
      let [worst, calls, servers] = [0, 0, 0];
      const met = async (name: string, one: () => Promise<Met>): Promise<void> => {
        const { p99, asked } = await one();
        const delay = Math.max(0, p99 - quiet);
        say(`${name}: p99 ${p99.toFixed(2)} ms, ${asked} calls`);
        assert.ok(delay < most, `${name}: a message was delayed by ${delay} ms`);
        [worst, calls, servers] = [Math.max(worst, delay), calls + asked, servers + 1];
      };
      for (const [mode, kind] of Object.entries(commands)) {
        await met(mode, () => besideCommand(mode, kind, means));
      }
      for (const [mode, kind] of Object.entries(urls)) {
        await met(`${mode} at a url`, () => besideUrl(mode as HttpMode, kind, means));
      }
      const ms = Math.round(worst * 100) / 100;
      const figures = { servers, calls, escaped: 0, secrets: 0, 'ms p99 of delay at most': ms };
      return { kind: 'proved', figures };
    } finally {
      await host.drain();
    }
  },
};

type Met = { readonly p99: number; readonly asked: number };

async function besideCommand(
  mode: string,
  kind: 'call' | 'none' | 'data',
  means: Means,
): Promise<Met> {
  const canary = `canary-${Math.floor(means.random() * 1e12)}-${mode}`;
  await using stage = await McpStage.open(mode, { ...limitsOf(kind), secret: canary });
  const met = await beside(stage, kind, canary, means);
  await stage.close();
  const pids = Array.from((await stage.notes()).matchAll(/started (\d+)/g), ([, pid]) => pid);
  await until('all are gone', async () => !pids.some((pid) => isAlive(Number(pid))));
  return met;
}

async function besideUrl(mode: HttpMode, kind: 'call' | 'none', means: Means): Promise<Met> {
  const canary = `canary-${Math.floor(means.random() * 1e12)}-${mode}`;
  await using elsewhere = await startHttpMcp('honest');
  await using server = await startHttpMcp(mode, elsewhere.url);
  const reach = { kind: 'url', url: server.url, tokenEnv: 'FAKE_TOKEN' as never } as const;
  await using stage = await McpStage.open('honest', { ...limitsOf(kind), reach, secret: canary });
  const met = await beside(stage, kind, canary, means);
  assert.deepEqual(elsewhere.asked, [], 'nothing else was asked');
  return met;
}

/** People talk while the server's tool is called again and again, announced or not. */
async function beside(
  stage: McpStage,
  kind: 'call' | 'none' | 'data',
  canary: string,
  { count, random, platform, accepting }: Means,
): Promise<Met> {
  if (kind === 'none') await until('it was met', () => stage.standing().state !== 'starting');
  else await stage.up();
  let isOver = false;
  const calling = callOn(stage, () => isOver);
  const p99 = await talk(platform, accepting, count, random);
  isOver = true;
  const ran = await calling;
  for (const { text, use } of ran) {
    assert.ok(text.length < 70_000, 'no more than fits is told');
    assert.ok(!text.includes(canary), 'a secret is told');
    if (kind === 'call') assert.notEqual(use.outcome, 'done');
    if (kind === 'none') assert.equal(use.rule, 'unavailable');
  }
  const reports = JSON.stringify([stage.warnings, stage.standing(), stage.announced()]);
  assert.ok(!reports.includes(canary), 'a secret is told');
  if (kind === 'none') assert.deepEqual(stage.announced(), []);
  return { p99, asked: ran.length };
}

const callsMax = 200;

async function callOn(stage: McpStage, isOver: () => boolean): Promise<Ran[]> {
  const ran: Ran[] = [];
  do ran.push(await stage.call('mcp_fake_echo', { text: 'hello' }));
  while (!isOver() && ran.length < callsMax);
  return ran;
}

/** The status page for a person, with one instance and with several. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { viewAlone } from '../../cluster/alone.ts';
import { makeInstances } from '../../../test/fake/other-instances.ts';
import { statusOf } from '../../admin/status.ts';
import { describeProvider } from '../../domain/model-words.ts';
import { statusPage } from './status-page.ts';

async function linesOf(of: ReturnType<typeof makeInstances>): Promise<string[]> {
  const status = await statusOf(of[0]!.ports, 'operator', 'operator');
  return statusPage(status, false).split('\n');
}

test('of several instances each has a line, and says what it alone does', async () => {
  const all = makeInstances([3, 8, 9, 12]);
  const [, holder, late, young] = all as [unknown, ...typeof all];
  holder!.posts = ['keeper'];
  holder!.change = (report) => ({ ...report, revision: 'r-0002', warnings: [] });
  late!.ageMs = 7_000;
  young!.ageMs = null;
  young!.beganAt = young!.clockMs - 1_000;
  const lines = await linesOf(all);
  const of = (id: number) => lines.find((line) => line.includes(`instance ${id}:`))!;
  const load = '0 in the last minute, 2 in hand, 7 waiting';
  assert.match(of(3), /^\S+ instance 3: up; began 2 min ago on host-3; svc 1\.2\.3; 0 in/);
  assert.ok(of(3).endsWith(load), of(3));
  assert.match(of(8), /; its configuration is r-0002; has Keeper; 0 in the last minute/);
  assert.match(of(9), / late: told 7\.0 s ago; began /);
  assert.match(of(12), / instance 12: starting; began 1\.0 s ago; svc 1\.2\.12$/);
  const sign = (line: string): string => line.split(' ')[0]!;
  assert.notEqual(sign(of(3)), sign(of(9)), 'what needs a look is marked');
  assert.equal(sign(of(8)), sign(of(9)));
  assert.ok(lines.some((line) => line.endsWith('Bind 127.0.0.1. (instance 3, 9)')));
});

test('replies that do not arrive have a line, with the reason and how many wait', async () => {
  const [alone] = makeInstances([1]);
  const { ports } = alone!;
  const status = await statusOf({ ...ports, view: viewAlone }, 'operator', 'operator');
  const now = status.startedAt + status.uptimeMs;
  const reason = { code: 'server_error', status: 500, minute: 7, fiveMinutes: 9 } as const;
  const tries = { tried: 9, failed: 9 };
  const webhook = {
    channel: 'webhook',
    state: 'failing',
    since: now - 60_000,
    someArrive: null,
    minute: tries,
    fiveMinutes: tries,
    reasons: [reason],
    waiting: 3_261,
    oldestAt: now - 120_000,
  } as const;
  const told = (state: 'failing' | 'arriving') =>
    statusPage({ ...status, deliveries: [{ ...webhook, state }] }, false).split('\n');
  const line = told('failing').find((one) => one.includes('replies on webhook'))!;
  assert.match(
    line,
    /do not arrive for 1 min.* \(server_error, status 500\); 3261 wait, the oldest/,
  );
  assert.ok(!told('arriving').some((one) => one.includes('do not arrive')));
  const part = { someArrive: true, minute: { tried: 30, failed: 6 }, state: 'failing' } as const;
  const some = statusPage({ ...status, deliveries: [{ ...webhook, ...part }] }, false).split('\n');
  const words = some.find((one) => one.includes('replies on webhook'))!;
  assert.match(words, /some do not arrive: 6 of 30 tries failed in a minute for 1 min/);
  assert.notEqual(words[0], line[0], 'it is a warning');
});

test('what an operator holds has a line', async () => {
  const [alone] = makeInstances([1]);
  const status = await statusOf({ ...alone!.ports, view: viewAlone }, 'operator', 'operator');
  const told = (held: number) => statusPage({ ...status, held }, false);
  assert.match(told(1), /^! conversations: 1 is answered by hand$/m);
  assert.match(told(2), /: 2 are answered by hand$/m);
  assert.doesNotMatch(told(0), /by hand/);
});

test('what waits for a yes has a line', async () => {
  const [alone] = makeInstances([1]);
  const status = await statusOf({ ...alone!.ports, view: viewAlone }, 'operator', 'operator');
  const told = (waiting: number) => statusPage({ ...status, approvals: { waiting } }, false);
  assert.match(told(1), /^! tool calls: 1 waits for a yes; svc approvals list shows it$/m);
  assert.match(told(2), /: 2 wait for a yes; svc approvals list shows them$/m);
  assert.doesNotMatch(told(0), /for a yes/);
});

test('of one that works alone there is no such line', async () => {
  const [alone] = makeInstances([1]);
  alone!.ports = { ...alone!.ports, view: viewAlone };
  const lines = await linesOf([alone!]);
  assert.ok(!lines.some((line) => line.includes('instance')), lines.join('\n'));
});

test('what was asked nothing lately says so as the page does, and when it was tried', async () => {
  const [alone] = makeInstances([1]);
  const { ports } = alone!;
  const status = await statusOf({ ...ports, view: viewAlone }, 'operator', 'operator');
  const now = status.startedAt + status.uptimeMs;
  const none = { answers: 0, failures: 0 };
  const window = { oneMinute: none, fiveMinutes: none };
  const told = (shown: object): string => {
    const provider = { ...status.providers[0]!, reason: null, model: null, window, ...shown };
    const page = statusPage({ ...status, providers: [provider] }, false);
    return page.split('\n').find((line) => line.includes(describeProvider(provider.provider)))!;
  };
  const unasked = { state: 'unknown', standing: 'unknown', since: null, shownAt: null };
  assert.match(told(unasked), /: not asked lately; \d+ answers?, \d+ failures? since the start$/);
  const quiet = { state: 'up', standing: 'up', since: now - 900_000, shownAt: now - 600_000 };
  assert.match(told(quiet), /: up for 15 min; last tried 10 min ago; /);
});

test('a model of which some calls fail says how many, and whether retries answer', async () => {
  const [alone] = makeInstances([1]);
  const { ports } = alone!;
  const status = await statusOf({ ...ports, view: viewAlone }, 'operator', 'operator');
  const fiveMinutes = { answers: 13, failures: 26 };
  const halting = {
    ...status.models[0]!,
    inUse: true,
    standing: 'degraded',
    reason: 'server_error',
    since: status.startedAt,
    answeredByOthers: 0,
    window: { oneMinute: fiveMinutes, fiveMinutes },
  } as const;
  const page = statusPage({ ...status, answering: [], models: [halting] }, false);
  assert.match(
    page,
    /: fails at some calls for .*; 26 of 39 calls failed in the last 5 minutes; retries answer/,
  );
});

test('channels and what warnings are about are called by their names', async () => {
  const [alone] = makeInstances([1]);
  const { ports } = alone!;
  const status = await statusOf({ ...ports, view: viewAlone }, 'operator', 'operator');
  const [brain] = status.brains;
  const channel = { ...status.channels[0]!, type: 'messenger_a', brain: brain!.name } as const;
  const bots = ['messenger_a', 'support'].map((name) => ({ ...channel, name }));
  const warning = { code: 'w', path: 'brains[0].policy', message: 'it is so', remedy: 'Mend it.' };
  const lines = statusPage(
    { ...status, channels: bots, warnings: [{ ...warning, instances: null }] },
    false,
  );
  const count = (to: string) =>
    lines.split('\n').filter((line) => line.startsWith(`${to} → ${brain!.name}: `, 2)).length;
  assert.deepEqual([count('Telegram'), count('support')], [1, 1]);
  assert.match(lines, new RegExp(`^! brain ${brain!.name}, policy: it is so\\. Mend it\\.$`, 'm'));
});

test('beside the state of the completions API stands the address for its clients', async () => {
  const [alone] = makeInstances([1]);
  const status = await statusOf(alone!.ports, 'operator', 'operator');
  const address = 'http://127.0.0.1:8092/v1';
  const api = {
    ...status.channels[0]!,
    name: 'completions',
    type: 'completions',
    address,
  } as const;
  const page = statusPage({ ...status, channels: [api] }, false);
  assert.match(page, /completions → main: .*, at http:\/\/127\.0\.0\.1:8092\/v1/);
});

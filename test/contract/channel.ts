/** The contract of every channel, whatever its platform. Each channel's own test runs it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Channel } from '../../src/channels/channel.ts';
import type { ReplyId } from '../../src/domain/ids.ts';
import type { Reply } from '../../src/domain/reply.ts';
import { noteAccept } from '../fake/webhook.ts';
import { stopOf, Stopper } from '../../src/lib/stop.ts';

export type ChannelBench = AsyncDisposable & {
  /** A channel that is not yet open, with its platform reachable. */
  readonly channel: Channel;
  /** A channel with a wrong address or token, so that `open` fails; null: none. */
  readonly hopeless: Channel | null;
  /** A reply to an address of that channel. */
  readonly reply: Reply;
  /** The platform's last text, and the actions that its buttons offer. */
  readonly shown: () => { readonly text: string; readonly presses: readonly string[] };
  /** Whether it has buttons. */
  readonly hasButtons: boolean;
  /** A channel whose platform is unreachable. */
  readonly cutOff: Channel;
};

/** @param start makes a new bench for every test */
export function testChannel(name: string, start: () => Promise<ChannelBench>): void {
  const first = { number: 1, possibleDuplicate: false, late: false };

  test(`${name}: opens with a key, runs until its signal aborts, and is stopped then`, async () => {
    await using bench = await start();
    const { channel } = bench;
    assert.equal(channel.health().state, 'starting');
    const opened = await channel.open();
    assert.ok(opened.kind === 'opened' && opened.key !== '');
    const ending = new AbortController();
    const running = channel.run(noteAccept(), ending.signal);
    const early = await Promise.race([running.then(() => 'ended'), Promise.resolve('running')]);
    assert.equal(early, 'running');
    ending.abort();
    await running;
    assert.equal(channel.health().state, 'stopped');
  });

  test(`${name}: run returns at once when its signal has aborted already`, async () => {
    await using bench = await start();
    await bench.channel.open();
    await bench.channel.run(noteAccept(), AbortSignal.abort());
  });

  test(`${name}: what is no good at open is a value with a sentence`, async () => {
    await using bench = await start();
    if (bench.hopeless === null) return;
    const problem = await bench.hopeless.open();
    assert.ok(problem.kind !== 'opened');
    if (problem.kind === 'problem') assert.match(problem.code, /^[a-z_]+$/);
    assert.ok(problem.message.length > 20);
    assert.equal(bench.hopeless.health().state, 'failed');
    await bench.hopeless[Symbol.asyncDispose]();
  });

  test(`${name}: delivers between open and the end, also before run`, async () => {
    await using bench = await start();
    await bench.channel.open();
    const outcome = await bench.channel.deliver(bench.reply, first, new Stopper());
    assert.deepEqual(outcome, { kind: 'delivered' });
  });

  test(`${name}: choices are buttons where there are any, and never text`, async () => {
    await using bench = await start();
    const { channel, reply, hasButtons } = bench;
    await channel.open();
    const commands = ['/approve 4XK2M9TQ0Z', '/refuse 4XK2M9TQ0Z'];
    const choices = commands.map((says) => ({ label: says.slice(1, 8).trim(), says }));
    const asks = { ...reply, choices };
    assert.equal((await channel.deliver(asks, first, new Stopper())).kind, 'delivered');
    assert.deepEqual(bench.shown(), { text: reply.text, presses: hasButtons ? commands : [] });
    const long = { label: 'Approve', says: `/approve ${'4'.repeat(200)}` };
    const odd = { ...asks, id: `${reply.id.slice(0, -1)}x` as ReplyId, choices: [long] };
    assert.equal((await channel.deliver(odd, first, new Stopper())).kind, 'delivered');
    assert.deepEqual(bench.shown(), { text: reply.text, presses: [] });
  });

  test(`${name}: a delivery that cannot arrive is an outcome, never a throw`, async () => {
    await using bench = await start();
    await using channel = bench.cutOff;
    await channel.open();
    const outcome = await channel.deliver(bench.reply, first, new Stopper());
    assert.ok(outcome.kind === 'retry' && !outcome.mayHaveArrived);
    const aborted = await channel.deliver(bench.reply, first, stopOf(AbortSignal.abort()));
    assert.ok(aborted.kind === 'retry' && aborted.failure.kind === 'cancelled');
  });

  test(`${name}: is given back twice without harm`, async () => {
    await using bench = await start();
    await bench.channel.open();
    await bench.channel[Symbol.asyncDispose]();
    await bench.channel[Symbol.asyncDispose]();
  });
}

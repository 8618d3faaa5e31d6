/** The states of channels that several instances have. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeInstances, type OtherInstance } from '../../../test/fake/other-instances.ts';
import type { ChannelState } from '../../domain/event.ts';
import type { ListenAddress } from '../../config/address.ts';
import type { EnvName } from '../../config/secret-value.ts';
import { completionsChannel, type ChannelKey } from '../../domain/ids.ts';
import { ownChannelsOf, routesOf, statusOf } from '../status.ts';
import { describeReport, readReport, wholeOf, type Report } from './report.ts';

const bot = 'messenger_a:7' as ChannelKey;

/** Adds the messenger's channel with this state to that instance's report. */
function stands(one: OtherInstance, state: ChannelState, reason: string | null = null): void {
  const { ports } = one;
  const since = one.id;
  const name = 'messenger_a';
  const view = { name, type: name, key: bot, isHeld: true, since, lastSeenAt: null } as const;
  const [webhook] = ports.runningConfig().channels;
  const channels = [webhook!, { ...view, state, reason }];
  const { config } = ports.runningConfig();
  const route = { channel: name, brain: 'open', number: 2, when: null, description: null };
  const routes = [...config.routes, route];
  one.ports = {
    ...ports,
    runningConfig: () => ({ ...ports.runningConfig(), channels, config: { ...config, routes } }),
  };
}

function webhookStands(one: OtherInstance, state: ChannelState, reason: string | null): void {
  const { ports } = one;
  const channels = ports.runningConfig().channels.map((view) => ({ ...view, state, reason }));
  one.ports = { ...ports, runningConfig: () => ({ ...ports.runningConfig(), channels }) };
}

function two(): [OtherInstance, OtherInstance] {
  return makeInstances([1, 2]) as [OtherInstance, OtherInstance];
}

async function channelOf({ ports }: OtherInstance, type: string) {
  const { channels } = await statusOf(ports, 'operator', 'operator');
  const { state, since, reason, instance } = channels.find((one) => one.type === type)!;
  return [state, since, reason, instance];
}

test('a messenger stands as it does where its connection is, and that one is named', async () => {
  const [asked, holder] = two();
  stands(asked, 'starting');
  stands(holder, 'up');
  holder.posts = ['keeper', bot];
  assert.deepEqual(await channelOf(asked, 'messenger_a'), ['up', 2, null, 2]);
  stands(holder, 'failed', 'the token is refused');
  assert.deepEqual(await channelOf(asked, 'messenger_a'), ['failed', 2, 'the token is refused', 2]);
  const running = async () => {
    const routes = routesOf(
      await wholeOf(asked.ports),
      asked.ports.runningConfig().config,
      'reader',
    );
    return routes.map(({ channel, running: isRunning }) => [channel, isRunning]);
  };
  assert.deepEqual(await running(), [
    ['webhook', true],
    ['messenger_a', false],
  ]);
  holder.ageMs = 8_000;
  assert.equal((await channelOf(asked, 'messenger_a'))[3], 2, 'it has it, though it is late');
  holder.ageMs = null;
  assert.deepEqual(await channelOf(asked, 'messenger_a'), ['starting', 900_000, null, 2]);
});

test('a messenger that nobody has yet begins, unless somebody knows better', async () => {
  const [asked, other] = two();
  stands(asked, 'up');
  stands(other, 'starting');
  const none = 'No instance has its connection yet.';
  assert.deepEqual(await channelOf(asked, 'messenger_a'), ['starting', 2, none, null]);
  stands(other, 'failed', 'no token of a bot');
  assert.deepEqual(await channelOf(asked, 'messenger_a'), ['failed', 2, 'no token of a bot', 2]);
});

test('a channel that every instance has stands as the gravest, which is named', async () => {
  const [asked, other] = two();
  assert.deepEqual((await channelOf(asked, 'webhook')).slice(2), ['It is slow.', null]);
  webhookStands(asked, 'up', null);
  webhookStands(other, 'failed', 'the address is taken');
  assert.deepEqual((await channelOf(asked, 'webhook')).slice(2), ['the address is taken', 2]);
  other.ageMs = 6_000;
  assert.deepEqual((await channelOf(asked, 'webhook')).slice(2), [null, null], 'it is late');
});

test('a channel that listens has the address of each instance', async () => {
  const [asked, other] = two();
  other.change = (report) => {
    const [listener] = report.listeners;
    return { ...report, listeners: [{ ...listener!, bind: '10.0.0.2:8090' }] };
  };
  const { channels } = await statusOf(asked.ports, 'operator', 'operator');
  assert.deepEqual(
    channels.map(({ type, address, addresses }) => [type, address, addresses]),
    [
      [
        'webhook',
        'http://127.0.0.1:8090/webhook',
        [
          { instance: 1, address: 'http://127.0.0.1:8090/webhook' },
          { instance: 2, address: 'http://10.0.0.2:8090/webhook' },
        ],
      ],
      ['messenger_a', null, []],
    ],
  );
});

test('a channel without a route is in no instance', async () => {
  const [asked] = two();
  assert.deepEqual(await channelOf(asked, 'messenger_a'), [
    'unrouted',
    null,
    'No route leads from it.',
    null,
  ]);
});

test('two bots of one platform stand apart; an older instance knows one by its type', async () => {
  const [asked, other] = two();
  const second = 'support@messenger_a:8' as ChannelKey;
  for (const one of [asked, other]) {
    stands(one, 'up');
    const { ports } = one;
    const { config, channels } = ports.runningConfig();
    const unnamed = config.channels.find(({ type }) => type === 'messenger_a')!;
    const named = { ...unnamed, name: 'support' };
    const failed = { state: 'failed', reason: 'its token is refused' } as const;
    const view = { ...channels.at(-1)!, name: 'support', key: second, ...failed };
    one.ports = {
      ...ports,
      runningConfig: () => ({
        ...ports.runningConfig(),
        channels: [...channels, view],
        config: { ...config, channels: [...config.channels, named] },
      }),
    };
  }
  other.change = (report) => {
    const older = JSON.parse(describeReport(report), (key, value: unknown) =>
      key === 'name' ? undefined : value,
    ) as Report;
    const text = JSON.stringify({ ...older, channels: older.channels.slice(0, 2) });
    return readReport(text)!;
  };
  asked.posts = [second];
  other.posts = ['keeper', bot];
  const { channels, instances } = await statusOf(asked.ports, 'operator', 'operator');
  assert.deepEqual(
    channels.map(({ name, state, instance, addresses }) => [
      name,
      state,
      instance,
      addresses?.length,
    ]),
    [
      ['webhook', 'degraded', null, 2],
      ['messenger_a', 'up', 2, 0],
      ['support', 'failed', 1, 0],
    ],
  );
  assert.deepEqual(
    instances?.map(({ posts }) => posts.map(({ name }) => name)),
    [['support'], ['Keeper', 'Telegram']],
  );
  assert.deepEqual(
    ownChannelsOf(asked.ports.runningConfig()).map(({ name, state }) => [name, state]),
    [
      ['webhook', 'degraded'],
      ['messenger_a', 'up'],
      ['support', 'failed'],
    ],
  );
});

test('the completions API is a channel with its brains and its address', async () => {
  const { ports } = makeInstances([1])[0]!;
  const { config, ...view } = ports.runningConfig();
  const name = completionsChannel;
  const own = {
    name,
    type: 'completions',
    key: name,
    isHeld: true,
    state: 'up',
    since: 5,
  } as const;
  const channels = [...view.channels, { ...own, reason: null, lastSeenAt: null }];
  const bind = { host: '127.0.0.1', port: 8_092, text: '127.0.0.1:8092' } as ListenAddress;
  const completions = {
    bind,
    tokenEnv: 'COMPLETIONS_TOKEN' as EnvName,
    brains: ['main', 'open'],
    inFlightMax: 256,
    requestsPerMinute: null,
  };
  const offering = { ...view, channels, config: { ...config, completions } };
  const asked = { ...ports, runningConfig: () => offering };
  const status = await statusOf(asked, 'operator', 'reader');
  const { brain, address, state, type } = status.channels.at(-1)!;
  const expected = ['main, open', 'http://127.0.0.1:8092/v1', 'up', 'completions'];
  assert.deepEqual([brain, address, state, type], expected);
  const answering = status.answering!.map((one) => one.brain);
  assert.deepEqual(answering, ['main', 'open'], 'a brain of it needs no route');
  const routes = routesOf(await wholeOf(asked), offering.config, 'reader');
  assert.deepEqual(
    routes.slice(1).map((one) => [one.channel, one.brain, one.running, one.number]),
    [
      [name, 'main', true, null],
      [name, 'open', true, null],
    ],
  );
});

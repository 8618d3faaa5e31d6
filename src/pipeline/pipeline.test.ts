/** A claim that was lost during its work: nothing is reported that did not happen. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { handClock } from '../../test/support/hand-clock.ts';
import { activeRoute } from '../../test/fake/channel.ts';
import { noteEvents } from '../../test/fake/webhook.ts';
import type { Brain, TurnContext } from '../brains/brain.ts';
import type { Channel } from '../channels/channel.ts';
import { failure } from '../domain/failure.ts';
import {
  createIdSource,
  type ChannelKey,
  type ConversationId,
  type ModelName,
} from '../domain/ids.ts';
import type { Inbound } from '../domain/message.ts';
import type { DeliveryOutcome } from '../domain/reply.ts';
import type { MessageOwner } from '../domain/story.ts';
import { createMemoryLedger } from '../ledger/memory/memory.ts';
import { ByteSemaphore } from '../lib/fair-queue.ts';
import { openAccess, Gate } from './gate.ts';
import { ApprovalWork } from './approvals/request.ts';
import { deadLetterMessage } from './turn-failure.ts';
import { Pairings } from './pairing/pairing.ts';
import { receive, receiveAtGate, sendReply, takeTurn } from './pipeline.ts';
import { RecentMessages, Routing } from './route.ts';

const channel = 'webhook' as ChannelKey;
const conversation = 'c1' as ConversationId;
const whose: MessageOwner = { kind: 'conversation', channel, conversation };
const session = { triggers: ['/new'], dailyAtMinute: null, idleMinutes: 60, recallMax: 1 };

function said(text: string, sender = 'p1'): Inbound {
  const address = { channel, target: conversation };
  const facts = { text, media: null, sender: { id: sender, name: null } };
  return { channel, conversation, address, dedupeKey: null, ...facts };
}

/** Deps on a ledger in memory, and a route whose brain and channel do what the test says. */
function setup(messagesMax = 10) {
  const { now, steady } = handClock();
  const fillRandom = (bytes: Uint8Array<ArrayBuffer>) => crypto.getRandomValues(bytes);
  const ids = createIdSource(now, fillRandom);
  const ledger = createMemoryLedger({ now, steady, ids, limits: { messagesMax } });
  const { events, calls } = noteEvents();
  const approvals = new ApprovalWork({ steady });
  const [fileBytes, spokenBytes] = [new ByteSemaphore(0), new ByteSemaphore(0)];
  const deps = {
    ledger,
    events,
    ids,
    now,
    steady,
    random: () => 0.5,
    approvals,
    fileBytes,
    spokenBytes,
  };
  const does = {
    think: async (_turnContext: TurnContext): Promise<void> => {},
    deliver: async (): Promise<DeliveryOutcome> => ({ kind: 'delivered' }),
  };
  const model = 'test/test' as ModelName;
  const brain: Brain = {
    name: 'main',
    sensitivity: 'public',
    agent: null,
    budget: null,
    historyBounds: { turns: 40, characters: 16_000 },
    deadlineMs: 60_000,
    async think(_turn, turnContext) {
      await does.think(turnContext);
      return { kind: 'reply', text: 'four', model, why: 'only one' };
    },
  };
  const connection = { reportsSessions: true, deliver: () => does.deliver() };
  const route = activeRoute(brain, { channel: connection as unknown as Channel, session });
  const routing = new Routing(route, new RecentMessages(ledger));
  const eventNames = (): string[] => calls.map(([name]) => name);
  const claimed = async (text = 'two and two?') => {
    await receive(deps, routing, [said(text)]);
    const [claim] = await ledger.claim('in', channel, 1);
    calls.length = 0;
    return claim!;
  };
  const replyClaimed = async () => {
    await takeTurn(deps, route, await claimed());
    const [claim] = await ledger.claim('out', channel, 1);
    calls.length = 0;
    return claim!;
  };
  const told = eventNames;
  return { deps, ledger, routing, line: route, does, calls, told, claimed, replyClaimed };
}

const tried = ['deliveryBegan', 'deliveryEnded'];

test('a turn that ended is told, and so is a reply that was delivered', async () => {
  const it = setup();
  await takeTurn(it.deps, it.line, await it.claimed());
  const [claim] = await it.ledger.claim('out', channel, 1);
  await sendReply(it.deps, it.line, claim!);
  assert.deepEqual(it.told(), ['turnStarted', 'turnFinished', ...tried, 'replyDelivered']);
});

test('of a turn whose conversation was forgotten meanwhile no end is told', async () => {
  const it = setup();
  const claim = await it.claimed();
  it.does.think = async () => void (await it.ledger.forget(whose));
  await takeTurn(it.deps, it.line, claim);
  assert.deepEqual(it.told(), ['turnStarted']);
});

test('what a model is asked for a conversation that is forgotten is stopped', async () => {
  const it = setup();
  const claim = await it.claimed();
  it.does.think = async (turnContext) => {
    const { aborted } = turnContext.stop.signal;
    await it.ledger.forget(whose);
    assert.deepEqual([aborted, turnContext.stop.signal.aborted], [false, true]);
  };
  await takeTurn(it.deps, it.line, claim);
  assert.deepEqual(it.told(), ['turnStarted']);
});

test('of a command whose conversation was forgotten meanwhile no answer is told', async () => {
  const it = setup();
  const claim = await it.claimed('/new');
  await it.ledger.forget(whose);
  await takeTurn(it.deps, it.line, claim);
  assert.deepEqual(it.told(), ['turnStarted']);
});

test('of a reply that was forgotten while it was on its way nothing is told', async () => {
  const outcomes: DeliveryOutcome[] = [
    { kind: 'delivered' },
    { kind: 'retry', failure: failure('overloaded'), mayHaveArrived: false },
    { kind: 'dead', failure: failure('gone') },
  ];
  for (const outcome of outcomes) {
    const it = setup();
    const claim = await it.replyClaimed();
    it.does.deliver = async () => {
      await it.ledger.forget(whose);
      return outcome;
    };
    await sendReply(it.deps, it.line, claim);
    assert.deepEqual(it.told(), tried, outcome.kind);
  }
});

test('a try at a reply is over also where a bug ends it', async () => {
  const it = setup();
  const claim = await it.replyClaimed();
  it.does.deliver = () => Promise.reject(new Error('a bug'));
  await assert.rejects(sendReply(it.deps, it.line, claim));
  assert.deepEqual(it.told(), tried);
});

test('what met a bug and was forgotten is no dead letter', async () => {
  const it = setup();
  const message = await it.claimed();
  await it.ledger.forget(whose);
  await deadLetterMessage(it.deps, it.line, message);
  assert.deepEqual(it.told(), []);
  const reply = await it.replyClaimed();
  await it.ledger.forget(whose);
  await deadLetterMessage(it.deps, it.line, reply);
  assert.deepEqual(it.told(), []);
});

test('the sentence after a bug takes the place of what the turn had shown', async () => {
  const it = setup();
  const claim = await it.claimed();
  await it.ledger.previews.keep(claim, '[7]');
  await deadLetterMessage(it.deps, it.line, claim);
  const [sorry] = await it.ledger.claim('out', channel, 1);
  assert.equal(sorry?.reply.replaces, '[7]');
});

test('and of what a process that died in it may have shown', async () => {
  const it = setup();
  const claim = Object.assign(await it.claimed(), { attempt: 2 });
  const line = { ...it.line, channel: { ...it.line.channel, begun: () => 'begun' } };
  await deadLetterMessage(it.deps, line, claim, 'poison');
  const [sorry] = await it.ledger.claim('out', channel, 1);
  assert.equal(sorry?.reply.replaces, 'begun');
});

test('what would be a command is none in an edit, and nobody is turned away by that', async () => {
  const it = setup();
  const gate = new Gate({
    pairings: new Pairings(it.ledger, it.deps.now, (bytes) => crypto.getRandomValues(bytes)),
    events: it.deps.events,
    now: it.deps.now,
  });
  const knows = ({ text }: Inbound): boolean => text === 'anew';
  const { routing } = it;
  const gated = { channel, access: openAccess, routing, knows, gatherMs: 0 };
  const edit = (text: string): Inbound => ({ ...said(text), apart: 'edit' });
  const handled = await receiveAtGate(it.deps, gate, () => gated, [edit('anew'), edit('hello')]);
  assert.ok(handled.kind === 'accepted');
  assert.deepEqual([handled.receipts[0], handled.receipts[1]?.duplicate], [null, false]);
  assert.deepEqual([it.told(), gate.turnedAway], [['messageAccepted'], []]);
  const [claim] = await it.ledger.claim('in', channel, 1);
  assert.equal(claim?.message.text, 'hello');
});

test('who was turned away is told only once the rest of the batch is in the ledger', async () => {
  const it = setup(1);
  const gate = new Gate({
    pairings: new Pairings(it.ledger, it.deps.now, (bytes) => crypto.getRandomValues(bytes)),
    events: it.deps.events,
    now: it.deps.now,
  });
  const access = { allow: ['friend'], groups: 'mention', pairing: false } as const;
  const rules = { knows: () => false, gatherMs: 0 };
  const gated = { channel, access, routing: it.routing, ...rules };
  const direct = (sender: string): Inbound => ({ ...said('hello', sender), setting: 'direct' });
  const batch = [direct('stranger'), direct('friend')];
  const first = await it.claimed();
  const refused = await receiveAtGate(it.deps, gate, () => gated, batch);
  assert.equal(refused.kind, 'refused');
  assert.deepEqual(it.told(), []);
  assert.deepEqual(gate.turnedAway, []);
  await it.ledger.deadLetter(first, failure('fault'));
  const handled = await receiveAtGate(it.deps, gate, () => gated, batch);
  assert.equal(handled.kind, 'accepted');
  assert.deepEqual(it.told(), ['messageAccepted', 'messageTurnedAway']);
  await receiveAtGate(it.deps, gate, () => gated, [direct('stranger')]);
  assert.deepEqual(
    gate.turnedAway.map(({ count }) => count),
    [2],
  );
});

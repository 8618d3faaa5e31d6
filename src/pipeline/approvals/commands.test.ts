import { noStarts } from '../../domain/conversation.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { activeRoute } from '../../../test/fake/channel.ts';
import type { Brain } from '../../brains/brain.ts';
import type { ApprovalId, ChannelKey } from '../../domain/ids.ts';
import type { Message } from '../../domain/message.ts';
import type { Durability, Memory } from '../../ledger/ledger.ts';
import { commandsOn } from '../commands.ts';
import type { ActiveRoute } from '../deps.ts';
import { decideSession } from '../sessions.ts';

const memory: Memory = {
  session: { number: 1, startedAt: 0 },
  turns: [],
  previousAt: null,
  windows: noStarts,
  empty: true,
};
const brainOf = (approvers: readonly string[] | null): Brain => {
  const asking = approvers && { approvers, waitMs: 1 };
  return { agent: asking && { asking, notes: null } } as unknown as Brain;
};
const route = (own: Brain, other: Brain): ActiveRoute =>
  activeRoute(own, {
    brains: new Map([
      ['own', own],
      ['other', other],
    ]),
  });
const deps = { ledger: { durability: { durable: true } as Durability } };
const messageOf = (sender: string, text: string, more: Partial<Message> = {}): Message =>
  ({
    channel: 'messenger_a:77' as ChannelKey,
    sender: { id: sender, name: null },
    text,
    media: null,
    ...more,
  }) as Message;

const actOf = (on: ActiveRoute, message: Message): string =>
  decideSession(message, memory, commandsOn(deps, on, message)).intent.kind;

test('who may decide for any brain may say it wherever they write; for others it is a text', () => {
  const on = route(brainOf(null), brainOf(['messenger_a:42']));
  assert.equal(actOf(on, messageOf('42', '/approve X')), 'approve');
  assert.equal(actOf(on, messageOf('42', '/refuse X')), 'refuse');
  assert.equal(actOf(on, messageOf('42', 'approve X')), 'think');
  assert.equal(actOf(on, messageOf('43', '/approve X')), 'think');
  const elsewhere = { channel: 'messenger_b:77' as ChannelKey };
  assert.equal(actOf(on, messageOf('42', '/approve X', elsewhere)), 'think');
});

test('where the agent asks, it is a command for everybody', () => {
  const on = route(brainOf([]), brainOf(null));
  assert.equal(actOf(on, messageOf('43', '/approve X')), 'approve');
});

test('svc’s own message is never what somebody wrote', () => {
  const on = route(brainOf(null), brainOf(null));
  const own = messageOf('43', '/new', { approval: 'a' as ApprovalId });
  assert.deepEqual(decideSession(own, memory, commandsOn(deps, on, own)), {
    move: null,
    intent: { kind: 'follow', approval: 'a' },
  });
});

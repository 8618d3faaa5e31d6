/** The end of an approval whose turn goes wrong: nothing hangs, and nothing runs twice. */
import assert from 'node:assert/strict';
import { hourMs, onEachBackend, payer, pays, resultIn } from './house.ts';
import { fakeTool } from '../fake/tools.ts';
import { until } from '../messages/messenger-house.ts';

const session = { triggers: ['/new'], dailyAtMinute: null, idleMinutes: 60, recallMax: 0 };

onEachBackend(
  'a turn that svc itself breaks is buried, and its approval ends with it',
  async ({ house }) => {
    await house.say('ada', 'pay');
    const { id } = await house.waiting();
    await house.apply({
      split: (text) => {
        if (text.startsWith('told: ')) throw new Error('a bug');
        return [text];
      },
    });
    await house.host.decide(id, 'approved');
    const sorry = await house.reply('ada', 2);
    assert.match(sorry.text, /^Sorry, something went wrong here/);
    await until(() => house.meters.channels.get('messenger_a')!.deadLetters.in === 1);
    const settled = await house.ledger.approvals.find(id);
    assert.deepEqual([settled?.outcome, settled?.settledAt === null], ['unknown', false]);
    assert.deepEqual(await house.ledger.approvals.owed(Number.MAX_SAFE_INTEGER), []);
    assert.equal(house.tool.ran.length, 1);
    if (!house.ledger.durability.durable) return;
    await house.apply({});
    assert.equal(await house.ledger.replay(sorry.inReplyTo), 'done');
    assert.equal(
      (await house.reply('ada', 3)).text,
      'webhook_call was decided and settled before.',
    );
    assert.equal(house.tool.ran.length, 1);
  },
);

onEachBackend(
  'a session that ended meanwhile stays ended: the result is told in the new one',
  async ({ house, clock }) => {
    await house.say('ada', 'pay');
    const { id } = await house.waiting();
    await house.say('ada', '/new');
    clock.now += 2 * hourMs;
    await house.host.decide(id, 'approved');
    const told = await house.reply('ada', 3);
    assert.equal(told.text, 'told: webhook_call of https://example.com/pay');
    assert.equal(told.sessionStarted, null, 'svc’s own message cuts no session');
    const said = house.requests.at(-1)!.lines.map(({ role, text }) => `${role}: ${text}`);
    assert.equal(said[0], 'user: (approved: webhook_call)');
  },
  { session },
);

onEachBackend(
  'a model that fails after the yes hides nothing of what was done',
  async ({ house }) => {
    await house.say('ada', 'pay');
    const { id } = await house.waiting();
    await house.apply({
      script: (request) => {
        const said = payer(request);
        if (resultIn(request.lines.at(-1)!.text) !== null) throw new Error('it broke');
        return said;
      },
    });
    await house.host.decide(id, 'approved');
    assert.match((await house.reply('ada', 2)).text, /^webhook_call: done\. Sorry, /);
    const settled = await house.ledger.approvals.find(id);
    assert.equal(settled?.outcome, 'done');
  },
);

onEachBackend(
  'an approver who cannot be reached alone is warned of once, and the operator may decide',
  async ({ house }) => {
    await house.say('ada', 'pay');
    house.look();
    house.look();
    await house.say('ada', 'hello');
    await house.host.decide((await house.waiting()).id, 'refused');
    assert.match((await house.reply('ada', 3)).text, /who may decide said no/);
    assert.ok(!house.messenger.delivered.some(({ text }) => text.includes('needs a yes for')));
    assert.deepEqual(house.warned, ['approver_not_asked']);
  },
  { direct: () => null },
);

onEachBackend('arguments are shown so that nothing in them hides', async ({ house }) => {
  const url = `https://a/\u202E\`||x||\u200b${'y'.repeat(2_000)}`;
  await house.apply({ script: () => [{ id: 'x', name: 'webhook_call', arguments: { url } }] });
  const { text } = await house.say('ada', 'pay');
  const first = text.split('\n')[0]!;
  assert.ok(first.includes('https://a/\\u202e\\u0060||x||\\u200b'), first);
  assert.match(first, /…\}` \(\d[\d,]* characters more: the person who runs this service can see/);
  assert.equal(first.split('`').length, 3, 'all of it is code');
});

onEachBackend('a yes waits for a tool whose server is still starting', async ({ house }) => {
  let isUp = false;
  const tool = fakeTool('webhook_call', 'url', { effect: 'outside', available: () => isUp });
  await house.apply({ tools: [tool] });
  isUp = true;
  await house.say('ada', 'pay');
  const { id } = await house.waiting();
  // Approvers get no question after the decision.
  await house.reply('boss', 1);
  isUp = false;
  await house.host.decide(id, 'approved');
  assert.deepEqual(tool.ran, []);
  isUp = true;
  await house.reply('ada', 2);
  assert.equal(tool.ran.length, 1);
});

onEachBackend('what the question does not show whole, an approver can only refuse', async (it) => {
  const { house } = it;
  const url = `https://a/${'y'.repeat(2_000)}`;
  await house.apply({ script: () => [{ id: 'x', name: 'webhook_call', arguments: { url } }] });
  const asked = await house.say('ada', 'pay');
  const { id, code } = await house.waiting();
  assert.deepEqual(asked.choices, [{ label: 'Refuse', says: `/refuse ${code}` }]);
  assert.ok(!asked.text.includes('/approve'));
  await house.reply('boss', 1);
  const { text } = await house.say('boss', `/approve ${code}`);
  assert.match(text, /only the person who runs this service can approve it/);
  assert.equal((await house.waiting()).id, id);
  assert.equal((await house.host.decide(id, 'approved')).kind, 'decided');
});

onEachBackend(
  'whatever is stuck, what was decided before a crash gets its turn',
  async ({ house }) => {
    for (let n = 0; n < 26; n++) await house.say('ada', `many ${n}`);
    const stuck = await house.ledger.approvals.waiting();
    assert.equal(stuck.length, 104);
    await house.ledger.takeovers.hold(stuck[0]!);
    for (const { id } of stuck) await house.host.decide(id, 'refused');
    await house.say('bob', 'one');
    const { id } = await house.waiting();
    await house.ledger.approvals.decide(id, { verdict: 'refused', by: 'operator', at: 1 });
    house.look();
    assert.equal((await house.reply('bob', 2)).text, 'told');
    assert.ok((await house.ledger.approvals.find(id))?.settledAt !== null);
  },
  {
    script({ lines }) {
      const { text } = lines.at(-1)!;
      const most = text.startsWith('many') ? 4 : 1;
      if (resultIn(text) !== null) return 'told';
      return Array.from({ length: most }, (_, n) => pays({ url: `https://a/${text}/${n}` })[0]!);
    },
  },
);

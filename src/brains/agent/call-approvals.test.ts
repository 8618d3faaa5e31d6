/** A turn ends with its question; the follow-up turn begins with the decided call. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brief, call, calls, Stage } from '../../../test/agents/play.ts';
import { fakeTool } from '../../../test/fake/tools.ts';
import type { WantedCall } from '../../domain/approval.ts';
import type { AgentConfig } from '../../config/config.ts';
import type { TurnContext } from '../brain.ts';
import { approvalRulesOf } from './call-approvals.ts';

const grants = [
  { tool: 'echo', mode: 'ask', channels: null },
  { tool: 'calc', mode: 'allow', channels: null },
] as const;

function askingContext() {
  const wanted: WantedCall[] = [];
  const turnContext: Partial<TurnContext> = {
    ask: async (one) => {
      wanted.push(one);
      return 'asked';
    },
    question: () => `I ask for ${wanted.length}`,
  };
  return { turnContext, wanted };
}

test('the round goes on, and then the turn ends with the question', async () => {
  const [echo, calc] = [fakeTool('echo', 'text'), fakeTool('calc', 'expression')];
  const stage = new Stage({ tools: [echo, calc], grants });
  const { turnContext, wanted } = askingContext();
  const round = calls(call('echo', { text: 'x' }), call('calc', { expression: '1' }));
  const played = await stage.play([round, 'never'], { turnContext });
  assert.equal(brief(played), 'I ask for 1');
  assert.equal(played.decision.why, 'asked for a yes at step 1');
  assert.equal(played.requests.length, 1);
  assert.deepEqual(
    played.uses.map(({ outcome }) => outcome),
    ['asked', 'done'],
  );
  assert.deepEqual(wanted[0]?.arguments, '{"text":"x"}');
  assert.deepEqual(echo.ran, []);
});

test('a call that waits already ends no turn: the model is told', async () => {
  const stage = new Stage({ tools: [fakeTool('echo', 'text')], grants });
  const turnContext: Partial<TurnContext> = { ask: async () => 'waits' };
  const played = await stage.play([calls(call('echo', { text: 'x' })), 'It waits.'], {
    turnContext,
  });
  assert.equal(brief(played), 'It waits.');
});

for (const protocol of ['native', 'text'] as const) {
  test(`what follows is the first result, and tools may be used (${protocol})`, async () => {
    const [echo, calc] = [fakeTool('echo', 'text'), fakeTool('calc', 'expression')];
    const stage = new Stage({ tools: [echo, calc], grants });
    const { turnContext, wanted } = askingContext();
    await stage.play([calls(call('echo', { text: 'x' }))], { turnContext });
    const followed = { ...wanted[0]!, verdict: 'approved', by: 'operator' } as const;
    const unable = protocol === 'text' ? [{ fails: 'tools_unsupported' } as const] : [];
    const said = [
      ...unable,
      protocol === 'native'
        ? calls(call('calc', { expression: '1' }))
        : '{"tool": "calc", "arguments": {"expression": "1"}}',
      'Done.',
    ];
    const played = await stage.play(said, { turnContext, text: '(approved: echo)', followed });
    assert.equal(brief(played), 'Done.');
    assert.deepEqual(echo.ran, [{ text: 'x' }]);
    const [use] = played.uses;
    assert.deepEqual(
      [use?.key, use?.outcome, use?.rule],
      ['message:0:0', 'done', 'approved_by_operator'],
    );
    const { lines } = played.requests[unable.length]!;
    // The earlier turn is over, and the provider's own fields are lost, so the call goes as text.
    assert.deepEqual(
      lines.map(({ role }) => role),
      protocol === 'native' ? ['user', 'user'] : ['user', 'assistant', 'user'],
    );
    const made = '{"tool":"echo","arguments":{"text":"x"}}';
    assert.ok(lines.some(({ text }) => text.includes(made)));
    assert.match(lines.at(-1)!.text, /\[data MARK\] result of echo\necho of x\n/);
  });
}

for (const verdict of ['refused', 'expired'] as const) {
  test(`${verdict}: nothing runs, and the model hears of it as the call's result`, async () => {
    const echo = fakeTool('echo', 'text');
    const stage = new Stage({ tools: [echo], grants });
    const followed = { tool: 'echo', arguments: '{"text":"x"}', hash: 'h', verdict } as const;
    const played = await stage.play(['A pity.'], { followed, text: `(${verdict}: echo)` });
    assert.equal(brief(played), 'A pity.');
    assert.match(played.requests[0]!.lines.at(-1)!.text, /result of echo\nThe call was not run: /);
    assert.deepEqual([echo.ran, played.uses], [[], []]);
  });
}

test('a yes to other arguments than those kept runs nothing: it is asked anew', async () => {
  const echo = fakeTool('echo', 'text');
  const stage = new Stage({ tools: [echo], grants });
  const { turnContext, wanted } = askingContext();
  const changed = { tool: 'echo', arguments: '{"text":"y"}', hash: 'of another call' };
  const followed = { ...changed, verdict: 'approved', by: 'operator' } as const;
  const played = await stage.play(['never'], { turnContext, followed });
  assert.equal(brief(played), 'I ask for 1');
  assert.deepEqual([echo.ran, wanted.length], [[], 1]);
  assert.equal(played.uses[0]?.outcome, 'asked');
});

test('approvers are rules of an agent that asks', () => {
  const approvers = [{ channel: 'support', user: '42', name: 'support:42' }];
  const asks = { governance: grants, approvers, approvalMs: 5, approvalText: 'notice' };
  const config = asks as unknown as AgentConfig;
  const asking = { approvers: ['support:42'], waitMs: 5, text: 'notice' };
  assert.deepEqual(approvalRulesOf(config), asking);
  const without = { ...config, governance: [], approvers: [] };
  assert.equal(approvalRulesOf(without), null);
});

/** An agent's loop against a mock server by others, on both wires. */
import { FakeBudgetGuard } from '../fake/budget-guard.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LLMock } from '@copilotkit/aimock';
import { fromNow } from '../support/hand-clock.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createAgent } from '../../src/brains/agent/agent.ts';
import { DryRunContext } from '../../src/brains/dry-run-context.ts';
import type { Message } from '../../src/domain/message.ts';
import { createDeadlines } from '../../src/lib/deadlines.ts';
import { Stopper } from '../../src/lib/stop.ts';
import { createPriority } from '../../src/brains/policies/priority.ts';
import { createToolbox } from '../../src/brains/tools/governance.ts';
import { Bench } from '../contract/model.ts';
import { fakeTool } from '../fake/tools.ts';

const kinds = [
  { provider: 'local_runtime', modelId: 'llama3', base: '' },
  { provider: 'hosted_runtime', modelId: 'gpt-test', base: '/v1' },
] as const;

for (const kind of kinds) {
  test(`an agent on ${kind.provider} goes through the tool loop of aimock`, async () => {
    const mock = new LLMock({ port: 0 });
    const toolCalls = [{ name: 'calc', arguments: { expression: '6*7' } }];
    mock.on({ hasToolResult: false }, { toolCalls });
    mock.on({ hasToolResult: true }, { content: 'It is 42.' });
    await mock.start();
    try {
      await using bench = new Bench();
      const model = bench.build(kind, mock.url + kind.base, { timeoutMs: 60_000 });
      const calc = fakeTool('calc', 'expression', { does: () => '42' });
      const onFault = (error: unknown): void => assert.fail(String(error));
      const agent = createAgent({
        name: 'helper',
        sensitivity: 'public',
        dispatch: 'fanout',
        budget: null,
        historyBounds: { turns: 40, characters: 16_000 },
        deadlineMs: 60_000,
        members: [{ model, rank: 0, retriesMax: 0 }],
        policy: createPriority(),
        ...systemClock,
        deadlines: createDeadlines(),
        retryDelayMs: () => null,
        onFault,
        toolbox: createToolbox({ tools: [calc], grants: [], ...systemClock, onFault }),
        stepsMax: 5,
        systemPrompt: null,
        operatorPrompt: null,
        skills: null,
        notes: null,
        asking: null,
        mark: () => 'MARK',
      });
      const text = 'What is six times seven?';
      const message = {
        id: 'm',
        channel: 'webhook',
        text,
        media: null,
        sensitivity: 'public',
      } as unknown as Message;
      const turnContext = new DryRunContext(new Stopper(), fromNow(60_000), new FakeBudgetGuard());
      const decision = await agent.think({ message, text, history: [] }, turnContext);
      assert.ok(decision.kind === 'reply', decision.why);
      assert.equal(decision.text, 'It is 42.');
      assert.deepEqual(calc.ran, [{ expression: '6*7' }]);
      assert.equal(decision.why, 'answered at step 2 after one tool call');
    } finally {
      await mock.stop();
    }
  });
}

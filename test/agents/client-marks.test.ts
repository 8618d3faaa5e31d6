/** The mark of an agent's data is the same in all requests of an API client, for prompt caches. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createBrain, createServiceDeps } from '../../src/app/service.ts';
import { DryRunContext } from '../../src/brains/dry-run-context.ts';
import type { Turn } from '../../src/brains/brain.ts';
import { validateText } from '../../src/config/validate.ts';
import type { GivenConversation } from '../../src/domain/completion.ts';
import { Stopper } from '../../src/lib/stop.ts';
import { FakeBudgetGuard } from '../fake/budget-guard.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { noteEvents } from '../fake/webhook.ts';
import { fromNow } from '../support/hand-clock.ts';
import { webhookConfig } from '../support/program.ts';

test('an API client has one mark over its requests, and another client another', async () => {
  const deps = createServiceDeps(noteEvents().events, '0');
  const calls = [{ name: 'echo', arguments: { text: 'x' } }];
  await using model = await startFakeOllama((_call, before) =>
    before % 2 === 0 ? { answer: '', calls } : { answer: 'Done.' },
  );
  const where = { port: 1, adminPort: 2, receiverUrl: 'http://127.0.0.1:9/', modelUrl: model.url };
  const document = webhookConfig(where);
  const brains = [{ ...document.brains[0], agent: { tools: ['echo'] } }];
  const validation = validateText(JSON.stringify({ ...document, brains }));
  assert.ok(validation.kind === 'valid', JSON.stringify(validation.problems));
  const brain = createBrain(validation.config.brains[0]!, new Map(), deps);
  const none = { system: null, tools: [], mayCall: true, outputTokensMax: null };
  const given: GivenConversation = { ...none, before: [], after: [] };
  const markFor = async (sender: string, conversation: string, isClient = true) => {
    const message = {
      id: conversation,
      channel: isClient ? 'completions' : 'webhook',
      conversation,
      sender: { id: sender, name: null },
      text: 'hi',
      media: null,
      sensitivity: 'public',
    } as unknown as Turn['message'];
    const turnContext = new DryRunContext(new Stopper(), fromNow(60_000), new FakeBudgetGuard());
    const turn = { message, text: 'hi', history: [], ...(isClient && { given }) };
    const decision = await brain.think(turn, turnContext);
    assert.ok(decision.kind === 'reply' && decision.text === 'Done.', JSON.stringify(decision));
    return /\[data ([^\]]+)\] result of echo/.exec(model.calls.at(-1)!.text)?.[1];
  };
  const first = await markFor('ann', 'c1');
  assert.ok(first);
  assert.equal(await markFor('ann', 'c2'), first);
  assert.notEqual(await markFor('ben', 'c3'), first);
  assert.notEqual(await markFor('ann', 'c1', false), await markFor('ann', 'c2', false));
  await deps.http.close();
});

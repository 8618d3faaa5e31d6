/**
 * The contract of every kind of model about streamed answers: run over each kind against a fake.
 */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { ModelRequest } from '../../src/brains/models/model.ts';
import { Stopper } from '../../src/lib/stop.ts';
import { FakeBudgetGuard } from '../fake/budget-guard.ts';
import { Bench, failedKind, neverStopped, requestOf, type ModelKind } from './model.ts';

const tool = { name: 'echo', description: 'says it', parameters: { type: 'object' } };

export function testStreaming(kind: ModelKind): void {
  suite(`a ${kind.provider} model that answers in pieces`, { concurrency: true }, () => {
    const ask = async (script: Parameters<ModelKind['start']>[0], more: Partial<ModelRequest>) => {
      await using fake = await kind.start(script);
      await using bench = new Bench();
      const told: string[] = [];
      const model = bench.build(kind, fake.url);
      const onText = (whole: string): void => void told.push(whole);
      const outcome = await model.ask(requestOf({ onText, ...more }), neverStopped);
      return { outcome, told, calls: fake.calls };
    };

    test('tells the text as it grows, and gives what the answer in one gives', async () => {
      const text = 'Die Größe ist 4 €, 👍 sagt er.\n\n- eins\n- zwei';
      const budgetGuard = new FakeBudgetGuard();
      const { outcome, told } = await ask({ answer: text }, { budgetGuard });
      assert.ok(outcome.kind === 'answer');
      assert.equal(outcome.text, text);
      assert.ok(told.length > 3);
      for (const [at, whole] of told.entries()) {
        assert.ok(text.startsWith(whole) && whole.length > (told[at - 1]?.length ?? 0), whole);
      }
      assert.equal(told.at(-1), text);
      const plain = new FakeBudgetGuard();
      await using fake = await kind.start({ answer: text });
      await using bench = new Bench();
      const whole = await bench
        .build(kind, fake.url)
        .ask(requestOf({ budgetGuard: plain }), neverStopped);
      assert.ok(whole.kind === 'answer');
      assert.deepEqual(outcome.usage, whole.usage);
      assert.deepEqual(budgetGuard.calls[0]!.used, plain.calls[0]!.used);
    });

    test('shows nothing of what the model thinks', async () => {
      const { outcome, told } = await ask({ answer: '<think>\nhm, 7?\n</think>\n\nIt is 8.' }, {});
      assert.ok(outcome.kind === 'answer' && outcome.text === 'It is 8.');
      for (const whole of told) assert.ok('It is 8.'.startsWith(whole), whole);
    });

    test('gives the calls of tools whole', async () => {
      const calls = [
        { id: 'a', name: 'echo', arguments: { text: 'ä "quoted" text' } },
        { id: 'b', name: 'echo', arguments: { text: 'two' } },
      ];
      const { outcome } = await ask({ answer: 'so', calls }, { tools: [tool] });
      assert.ok(outcome.kind === 'answer');
      const given = outcome.calls.map(({ name, arguments: one }) => {
        return [name, typeof one === 'string' ? (JSON.parse(one) as unknown) : one];
      });
      assert.deepEqual(
        given,
        calls.map(({ name, arguments: one }) => [name, one]),
      );
    });

    test('shows no text that is a call of a tool in JSON', async () => {
      const written = '{"name": "echo", "arguments": {"text": "one two three"}}';
      for (const answer of [written, `\`\`\`json\n${written}\n\`\`\``]) {
        const { outcome, told } = await ask({ answer }, { tools: [tool] });
        assert.ok(outcome.kind === 'answer' && outcome.calls.length === 1);
        assert.deepEqual([outcome.text, told.join('')], ['', '']);
      }
      const prose = await ask({ answer: 'A call is {"name": "echo"} here.' }, { tools: [tool] });
      assert.ok(prose.told.length > 3);
    });

    test('an answer in one, though parts were asked for, is an answer', async () => {
      await using plain = await kind.start({ answer: 'hello there' });
      const path = kind.provider === 'local_runtime' ? '/api/chat' : '/chat/completions';
      const answer = await fetch(plain.url + path, {
        method: 'POST',
        body: '{}',
      });
      const { outcome } = await ask({ status: 200, body: await answer.text() }, {});
      assert.ok(outcome.kind === 'answer' && outcome.text === 'hello there');
    });

    test('a stream that breaks off is a broken connection', async () => {
      const cut = new Error('cut');
      const between = (): Promise<void> => Promise.reject(cut);
      const { outcome } = await ask({ answer: 'one two three four', between }, {});
      assert.equal(failedKind(outcome), 'connection_lost');
      assert.ok(outcome.kind === 'failed' && outcome.failure.retryable);
    });

    test('is not heard any more once it is stopped', async () => {
      const stopper = new Stopper();
      await using fake = await kind.start({
        answer: 'one two three',
        between: (piece) => (piece === 1 ? stopper.stop() : undefined),
      });
      await using bench = new Bench();
      const onText = (): void => {};
      const outcome = await bench.build(kind, fake.url).ask(requestOf({ onText }), stopper);
      assert.equal(failedKind(outcome), 'cancelled');
    });

    for (const [status, expected] of [
      [429, 'rate_limited'],
      [500, 'server_error'],
      [404, 'not_found'],
    ] as const) {
      test(`${status} is ${expected}, as without pieces`, async () => {
        const { outcome, told } = await ask({ status, body: '{"error":"no"}' }, {});
        assert.equal(failedKind(outcome), expected);
        assert.deepEqual(told, []);
      });
    }
  });
}

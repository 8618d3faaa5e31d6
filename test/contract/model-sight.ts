/** The contract of every kind of model about pictures: run over each kind against a fake. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Picture } from '../../src/domain/attachment.ts';
import type { HistoryLine } from '../../src/domain/conversation.ts';
import type { FakeModel, Script } from '../fake/model-server.ts';
import { FakeBudgetGuard } from '../fake/budget-guard.ts';
import { Bench, neverStopped, requestOf, type ModelKind } from './model.ts';

/** Like `ModelKind`; the fake's provider reports whether its models see, or nothing. */
export type SeeingKind = Pick<ModelKind, 'provider' | 'modelId'> & {
  start(script?: Script, sees?: boolean | null): Promise<FakeModel>;
  /** The pictures in the last message of a call, as base64. */
  shownIn(body: unknown): readonly string[];
  /** The provider's refusal when the model takes no pictures. */
  readonly refusal: { readonly status: number; readonly body: string };
};

const picture: Picture = { type: 'image/png', bytes: Uint8Array.from([0, 255, 137, 80]) };
const lines: readonly HistoryLine[] = [
  { role: 'user', text: 'before' },
  { role: 'assistant', text: 'yes' },
  { role: 'user', text: 'what is it?', pictures: [picture, picture] },
];

/** vLLM's words, each with a mention of pictures. */
const tooLong = [
  'The decoder prompt (length 6001) is longer than the maximum model length of 4096. Make sure ' +
    'that `max_model_len` is no smaller than the number of text tokens plus multimodal tokens.',
  'This model has a maximum context length of 4096 tokens, and the image takes 5000.',
];

/** The words of OpenAI and vLLM about a picture, and not about a model. */
const ofThesePictures = [
  'Your image was flagged by our safety system.',
  'You uploaded an unsupported image. Please make sure your image has of one the following ' +
    "formats: ['png', 'jpeg', 'gif', 'webp'].",
  'Image format is not supported.',
  'cannot identify image file <_io.BytesIO object at 0x7f>',
];

export function testSight(kind: SeeingKind): void {
  suite(`pictures to a ${kind.provider} model`, { concurrency: true }, () => {
    test('go with their message, and no other message changes', async () => {
      await using fake = await kind.start();
      await using bench = new Bench();
      const model = bench.build(kind, fake.url, { vision: true });
      await model.ask(requestOf({ lines }), neverStopped);
      const { messages } = fake.calls[0]!.body as { messages: { content: unknown }[] };
      assert.deepEqual(kind.shownIn(fake.calls[0]!.body), ['AP+JUA==', 'AP+JUA==']);
      assert.deepEqual(messages.slice(0, 2), [
        { role: 'user', content: 'before' },
        { role: 'assistant', content: 'yes' },
      ]);
      assert.match(JSON.stringify(messages.at(-1)), /what is it\?/);
    });

    for (const [says, sees] of [
      [true, true],
      [false, false],
      [null, false],
    ] as const) {
      test(`a provider that says ${says} has a model that sees: ${sees}`, async () => {
        await using fake = await kind.start(undefined, says);
        await using bench = new Bench();
        const model = bench.build(kind, fake.url);
        assert.equal(await model.sees('private', bench.clock.in(5_000)), sees);
        for (const declared of [true, false]) {
          const told = bench.build(kind, fake.url, { vision: declared });
          assert.equal(await told.sees('public', bench.clock.in(5_000)), declared);
        }
        assert.equal(fake.looks.length, 1, 'what is declared is not asked about');
      });
    }

    test('a provider that does not say is not asked again at once', async () => {
      await using fake = await kind.start(undefined, null);
      await using bench = new Bench();
      const model = bench.build(kind, fake.url);
      for (let time = 0; time < 2; time++) {
        assert.equal(await model.sees('public', bench.clock.in(5_000)), false);
      }
      assert.equal(fake.looks.length, 1);
    });

    for (const status of [429, 503]) {
      test(`a provider that answers ${status} is asked again the next time`, async () => {
        await using fake = await kind.start();
        await using bench = new Bench();
        const model = bench.build(kind, fake.url);
        await fake.script({ status, body: '{}' }, 'looks');
        for (let time = 0; time < 2; time++) {
          assert.equal(await model.sees('public', bench.clock.in(5_000)), 'unreached');
        }
        assert.equal(fake.looks.length, 2);
      });
    }

    test('where the provider refuses them, the model is blind from then on', async () => {
      await using fake = await kind.start(kind.refusal);
      await using bench = new Bench();
      const model = bench.build(kind, fake.url, { vision: true });
      const outcome = await model.ask(requestOf({ lines }), neverStopped);
      assert.ok(outcome.kind === 'failed' && outcome.failure.kind === 'pictures_unsupported');
      assert.equal(await model.sees('public', bench.clock.in(5_000)), false);
    });

    test('are not sent to a model that does not see', async () => {
      await using fake = await kind.start(undefined, false);
      await using bench = new Bench();
      const model = bench.build(kind, fake.url);
      const outcome = await model.ask(requestOf({ lines }), neverStopped);
      assert.ok(outcome.kind === 'failed' && outcome.failure.kind === 'pictures_unsupported');
      assert.equal(fake.calls.length, 0);
    });

    for (const body of ofThesePictures) {
      test(`pictures that are not taken say nothing of others: ${body.slice(0, 40)}`, async () => {
        await using fake = await kind.start({ status: 400, body: JSON.stringify({ error: body }) });
        await using bench = new Bench();
        const model = bench.build(kind, fake.url, { vision: true });
        const outcome = await model.ask(requestOf({ lines }), neverStopped);
        assert.ok(outcome.kind === 'failed' && outcome.failure.kind === 'picture_refused');
        assert.equal(await model.sees('public', bench.clock.in(5_000)), true);
      });
    }

    for (const body of tooLong) {
      test(`a request that is too long says nothing of sight: ${body.slice(0, 40)}`, async () => {
        await using fake = await kind.start({ status: 400, body: JSON.stringify({ error: body }) });
        await using bench = new Bench();
        const model = bench.build(kind, fake.url, { vision: true });
        const outcome = await model.ask(requestOf({ lines }), neverStopped);
        assert.ok(outcome.kind === 'failed' && outcome.failure.kind === 'context_overflow');
        assert.equal(await model.sees('public', bench.clock.in(5_000)), true);
      });
    }

    test('what a refusal says of pictures means nothing where none was shown', async () => {
      await using fake = await kind.start(kind.refusal);
      await using bench = new Bench();
      const outcome = await bench.build(kind, fake.url).ask(requestOf(), neverStopped);
      assert.ok(outcome.kind === 'failed' && outcome.failure.kind !== 'pictures_unsupported');
    });

    test('reserve what a provider may charge for them, and not their bytes', async () => {
      await using fake = await kind.start();
      await using bench = new Bench();
      const model = bench.build(kind, fake.url, { vision: true, outputTokensMax: 10 });
      const inputs: number[] = [];
      for (const bytes of [10, 1_000_000]) {
        const budgetGuard = new FakeBudgetGuard();
        const shown = [{ ...picture, bytes: new Uint8Array(bytes) }];
        const one = [{ role: 'user', text: 'look', pictures: shown }] as const;
        await model.ask(requestOf({ lines: one, budgetGuard }), neverStopped);
        inputs.push(budgetGuard.calls[0]!.most.input);
      }
      assert.ok(inputs[0]! > 48_000 && inputs[0]! < 49_000, String(inputs[0]));
      assert.ok(Math.abs(inputs[1]! - inputs[0]!) < 10, String(inputs));
    });
  });
}

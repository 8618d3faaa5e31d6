import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Attachment } from '../domain/attachment.ts';
import type { Vision } from './models/model.ts';
import { ScriptedModel } from '../../test/fake/scripted-model.ts';
import { think, type Asking } from '../../test/fake/thinking.ts';

const picture = { type: 'image/jpeg', bytes: Uint8Array.from([7]) } as const;
const attachments: readonly Attachment[] = [{ kind: 'picture', name: 'photo', picture }];

function modelOf(name: string, seesPictures: Vision, locality: 'local' | 'cloud' = 'local') {
  const model = new ScriptedModel(name, locality);
  model.seesPictures = seesPictures;
  return model;
}

const ask = (t: TestContext, models: readonly ScriptedModel[], more: Asking = {}) =>
  think(t, models, { text: 'what is it?', attachments, ...more });
const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
};
const picturesTo = (model: ScriptedModel): number =>
  model.questions.reduce(
    (sum, { request }) =>
      sum + request.lines.flatMap((line) => ('pictures' in line ? line.pictures : [])).length,
    0,
  );

test('the models that see are asked, and no other', async (t) => {
  const [seeing, blind] = [modelOf('a', true), modelOf('b', false)];
  const turn = ask(t, [blind, seeing]);
  await settled();
  assert.deepEqual([seeing.questions.length, blind.questions.length], [1, 0]);
  assert.equal(picturesTo(seeing), 1);
  assert.deepEqual(turn.steps[0], { kind: 'sight', blind: ['local_runtime/b'], seeing: 1 });
  await seeing.last.answer('a cat');
  const decision = await turn.decision;
  assert.ok(decision.kind === 'reply' && decision.text === 'a cat');
});

test('where nobody sees, all are asked, and told that there is a picture', async (t) => {
  const models = [modelOf('a', false), modelOf('b', false)];
  ask(t, models);
  await settled();
  for (const model of models) {
    assert.equal(picturesTo(model), 0);
    assert.match(model.last.request.lines.at(-1)!.text, /it is not shown to this model/);
  }
});

test('nothing but a picture, and nobody sees: svc says so, and nobody is asked', async (t) => {
  const blind = modelOf('a', false);
  const decision = await ask(t, [blind], { text: '' }).decision;
  assert.ok(decision.kind === 'apology' && decision.apology === 'unseen');
  assert.equal(blind.questions.length, 0);
});

test('where a provider cannot be reached, that is told, and not that nobody sees', async (t) => {
  const model = modelOf('a', 'unreached');
  const turn = ask(t, [model], { text: '' });
  await settled();
  assert.equal(picturesTo(model), 0);
  await model.last.fail('unauthorized');
  const decision = await turn.decision;
  assert.ok(decision.kind === 'apology' && decision.apology === 'no_answer');
});

for (const kind of ['pictures_unsupported', 'picture_refused'] as const) {
  test(`a model that fails with ${kind} is asked once more without the picture`, async (t) => {
    const model = modelOf('a', true);
    const turn = ask(t, [model]);
    await settled();
    await model.last.fail(kind);
    await settled();
    assert.equal(model.questions.length, 2);
    assert.equal(picturesTo(model), 1, 'the second time without');
    await model.last.answer('I cannot see it');
    assert.equal((await turn.decision).kind, 'reply');
  });
}

test('a turn that is stopped while providers are asked who sees ends at once', async (t) => {
  const model = modelOf('a', true);
  model.sees = () => new Promise(() => {});
  const turn = ask(t, [model], { text: '' });
  await settled();
  turn.stopper.stop();
  const decision = await turn.decision;
  assert.ok(decision.kind === 'apology' && decision.apology === 'no_answer');
  assert.equal(model.questions.length, 0);
});

test('a turn without pictures asks nobody whether they see', async (t) => {
  const model = modelOf('a', true);
  model.sees = () => assert.fail('it was asked');
  const turn = think(t, [model]);
  await model.last.answer('hi');
  assert.equal((await turn.decision).kind, 'reply');
});

test('in order, who stands behind the first that sees is asked nothing yet', async (t) => {
  const [first, paid] = [modelOf('a', true), modelOf('b', true, 'cloud')];
  let asked = 0;
  paid.sees = () => Promise.resolve(++asked > 0);
  const turn = ask(t, [modelOf('c', false), first, paid], { dispatch: 'sequential' });
  await settled();
  assert.deepEqual([asked, picturesTo(first), paid.questions.length], [0, 1, 0]);
  await first.last.fail('timeout');
  await settled();
  assert.equal(picturesTo(paid), 1, 'and is offered the picture');
  turn.stopper.stop();
});

test('pictures of the history are looked for once somebody sees', async (t) => {
  const row = { at: 1, text: 'a photo', reply: null, sensitivity: 'public' } as const;
  for (const sees of [true, false, 'unreached'] as const) {
    const model = modelOf('a', sees);
    let probes = 0;
    const pictured = async () => {
      probes++;
      return new Map([[row, [picture]]]);
    };
    const turn = think(t, [model, modelOf('b', false)], { history: [row], pictured });
    await settled();
    assert.deepEqual([probes, picturesTo(model)], sees === true ? [1, 1] : [0, 0]);
    turn.stopper.stop();
    t.mock.timers.reset();
  }
});

for (const brain of ['public', 'private'] as const) {
  for (const message of ['public', 'private'] as const) {
    test(`${brain} brain, ${message} message: who is shown the picture`, async (t) => {
      const [here, away] = [modelOf('a', true), modelOf('b', true, 'cloud')];
      const turn = ask(t, [away, here], { sensitivity: brain, label: message });
      await settled();
      const isPublic = brain === 'public' && message === 'public';
      assert.deepEqual([picturesTo(here), picturesTo(away)], [1, isPublic ? 1 : 0]);
      assert.equal(here.last.request.sensitivity, isPublic ? 'public' : 'private');
      turn.stopper.stop();
    });
  }
}

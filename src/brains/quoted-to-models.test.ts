import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ScriptedModel } from '../../test/fake/scripted-model.ts';
import { think } from '../../test/fake/thinking.ts';
import type { TurnRow } from '../domain/conversation.ts';

const secret = 'Replying to Bob:\n> the safe opens with 4711';
const before: TurnRow = { at: 0, text: 'before', reply: null, sensitivity: 'public' };
const lastOf = ({ last }: ScriptedModel) => last.request.lines.at(-1)!.text;

for (const label of ['public', 'private'] as const) {
  for (const brain of ['public', 'private'] as const) {
    for (const quote of ['public', 'private'] as const) {
      test(`of a ${brain} brain, a ${label} message, a ${quote} quotation`, async (t) => {
        const cloud = new ScriptedModel('a', 'cloud');
        const local = new ScriptedModel('b', 'local');
        const quoted = { text: secret, sensitivity: quote };
        const asked = { label, sensitivity: brain, quoted, text: 'and?', history: [before] };
        const turn = think(t, [cloud, local], { ...asked, context: { inGroup: true } });
        const isPublic = label === 'public' && brain === 'public';
        assert.equal(lastOf(local), `Anna: and?\n\n${secret}`);
        const strict = isPublic && quote === 'public' ? 'public' : 'private';
        assert.equal(local.last.request.sensitivity, strict);
        assert.equal(cloud.questions.length, isPublic ? 1 : 0);
        if (!isPublic) return;
        const shown =
          quote === 'public' ? secret : '[replying to a message that you are not shown]';
        assert.equal(lastOf(cloud), `Anna: and?\n\n${shown}`);
        assert.equal(cloud.last.request.sensitivity, 'public');
        await cloud.last.answer('so');
        await local.last.answer('so');
        await turn.decision;
        const leftOut = turn.steps.filter(({ kind }) => kind === 'left_out');
        const models = ['local_runtime/a'];
        const leftOutStep = { kind: 'left_out', why: 'private', models, turns: 1, notes: 0 };
        assert.deepEqual(leftOut, quote === 'public' ? [] : [leftOutStep]);
      });
    }
  }
}

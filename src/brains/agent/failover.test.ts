/** If one model of an agent fails, the next one by rank continues the turn. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brief, call, calls, Stage } from '../../../test/agents/play.ts';
import { fakeTool } from '../../../test/fake/tools.ts';
import { mockedClock } from '../../../test/support/hand-clock.ts';
import type { TurnRow } from '../../domain/conversation.ts';

const calc = () => fakeTool('calc', 'expression', { does: (given) => `${given} = 2` });
const sum = (expression = '1+1') => calls(call('calc', { expression }));
const here = { id: 'n', locality: 'local' } as const;
const cloud = { id: 'far', locality: 'cloud' } as const;
const secret: TurnRow = { at: 0, text: 'my code', reply: 'kept', sensitivity: 'private' };

test('a model that fails before a tool was used gives way to the next one', async () => {
  const stage = new Stage({ tools: [calc()], behind: [here] });
  const played = await stage.play([{ fails: 'connect_failed' }, sum(), 'It is 2.']);
  assert.equal(brief(played), 'It is 2.');
  assert.deepEqual(played.asked, ['m', 'n', 'n'], 'and is not asked again in this turn');
  assert.equal(played.decision.kind === 'reply' && played.decision.model, 'local_runtime/n');
  const models = played.steps.flatMap((step) => (step.kind === 'model' ? [step.result] : []));
  assert.deepEqual(models, ['connect_failed', 'answer', 'answer']);
  const again = await stage.play(['hello']);
  assert.deepEqual(again.asked, ['m'], 'the next turn begins with the best one');
});

test('between steps the next model goes on with what was found', async () => {
  const tool = calc();
  const stage = new Stage({ tools: [tool], behind: [here] });
  const played = await stage.play([sum(), { fails: 'timeout' }, 'It is 2.']);
  assert.equal(brief(played), 'It is 2.');
  assert.deepEqual(played.asked, ['m', 'm', 'n']);
  assert.equal(tool.ran.length, 1, 'no call is made twice');
  const callLine = played.requests[2]!.lines.at(-1)!;
  assert.equal(callLine.role, 'user', 'another model would lack what its provider wants back');
  assert.match(callLine.text, /"expression":"1\+1"[^]*1\+1 = 2/);
  assert.equal(played.decision.why, 'answered at step 2 after one tool call');
});

test('each model is told of tools in its own way', async () => {
  const stage = new Stage({ tools: [calc()], behind: [here] });
  const text = JSON.stringify({ tool: 'calc', arguments: { expression: '1+1' } });
  const said = [{ fails: 'tools_unsupported' }, { fails: 'timeout' }, sum(), text] as const;
  const played = await stage.play(said);
  assert.deepEqual(played.asked, ['m', 'm', 'n', 'n']);
  assert.deepEqual(
    played.requests.map(({ tools }) => tools.length),
    [1, 0, 1, 1],
  );
  assert.equal(brief(played), text, 'a text of a model with calls of its own is an answer');
});

test('what became private is for no model elsewhere', async () => {
  const stage = new Stage({ tools: [calc()], behind: [cloud, here] });
  const moment = { history: [secret] };
  const played = await stage.play([sum(), { fails: 'timeout' }, 'done'], moment);
  assert.equal(brief(played), 'done');
  assert.deepEqual(played.asked, ['m', 'm', 'n'], 'the cloud model is passed over');
  assert.ok(played.steps.some((step) => step.kind === 'shield' && step.dropped.length === 1));
  const atOnce = await stage.play([{ fails: 'timeout' }, 'without it'], moment);
  assert.deepEqual(atOnce.asked, ['m', 'far'], 'as long as nothing private was found out');
  assert.doesNotMatch(JSON.stringify(atOnce.requests[1]!.lines), /my code/);
});

test('what is quoted and private is shown to local models alone', async () => {
  const quoted = { text: 'Replying to Bob:\n> my code', sensitivity: 'private' } as const;
  const stage = new Stage({ tools: [calc()], behind: [cloud] });
  const played = await stage.play([{ fails: 'timeout' }, 'without it'], { quoted });
  assert.deepEqual(played.asked, ['m', 'far']);
  const [own, far] = played.requests.map(({ lines }) => JSON.stringify(lines));
  assert.match(own!, /my code/);
  assert.doesNotMatch(far!, /my code/);
  assert.match(far!, /\[replying to a message that you are not shown\]/);
});

test('an agent shows nothing of what it writes, though somebody looks', async () => {
  const stage = new Stage({ tools: [calc()] });
  const shown: string[] = [];
  const turnContext = { show: (whole: string) => void shown.push(whole) };
  const played = await stage.play([sum(), 'It is 2.'], { turnContext });
  assert.deepEqual(
    played.requests.map(({ onText }) => onText),
    [undefined, undefined],
  );
  assert.deepEqual(shown, []);
});

test('notes of the whole brain are for local models alone', async () => {
  const notes = {
    scope: { kind: 'brain', brain: 'helper' },
    notesMax: 9,
    budgetRunes: 99,
  } as const;
  const stage = new Stage({ tools: [calc()], behind: [cloud, here], notes });
  const played = await stage.play([{ fails: 'timeout' }, 'here']);
  assert.deepEqual(played.asked, ['m', 'n']);
});

test('where every model fails, the reason tells of all', async () => {
  const stage = new Stage({ tools: [calc()], behind: [here] });
  const played = await stage.play([{ fails: 'not_found' }, { fails: 'timeout' }]);
  assert.equal(brief(played), '(busy)');
  assert.equal(played.decision.why, 'no model gave an answer: not_found, timeout');
});

test('a conversation too long for one model may fit the next', async () => {
  const stage = new Stage({ tools: [calc()], behind: [here] });
  const played = await stage.play([{ fails: 'context_overflow' }, 'it fits']);
  assert.equal(brief(played), 'it fits');
  assert.deepEqual(played.asked, ['m', 'n']);
});

test('a model that is alone is asked again after a failure that may pass', async () => {
  const stage = new Stage({
    tools: [calc()],
    retryDelayMs: (_, attempt) => (attempt < 2 ? 0 : null),
  });
  const played = await stage.play([sum(), { fails: 'server_error' }, 'It is 2.']);
  assert.equal(brief(played), 'It is 2.');
  assert.deepEqual(played.asked, ['m', 'm', 'm']);
});

test('of models that have all failed those with a passing failure are asked again', async () => {
  const retryDelayMs = ({ retryable }: { retryable: boolean }): number | null =>
    retryable ? 0 : null;
  const stage = new Stage({ tools: [calc()], behind: [here], retryDelayMs });
  const played = await stage.play([{ fails: 'not_found' }, { fails: 'server_error' }, 'hello']);
  assert.equal(brief(played), 'hello');
  assert.deepEqual(played.asked, ['m', 'n', 'n']);
});

test('a model that hangs leaves the next one time to answer', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 1_000_000 });
  const tool = calc();
  const stage = new Stage({ tools: [tool], behind: [here], clock: mockedClock });
  const hangs = { meanwhile: () => t.mock.timers.tick(400) };
  const played = await stage.play([sum(), hangs, 'It is 2.'], { turnMs: 600 });
  assert.equal(brief(played), 'It is 2.');
  assert.deepEqual(played.asked, ['m', 'm', 'n']);
  assert.equal(tool.ran.length, 1);
  const models = played.steps.flatMap((step) => (step.kind === 'model' ? [step.result] : []));
  assert.deepEqual(models, ['answer', 'timeout', 'answer']);
  const both = await stage.play([hangs, { meanwhile: () => t.mock.timers.tick(200) }], {
    turnMs: 600,
  });
  assert.equal(brief(both), '(busy)');
});

test('a model that took no picture is not shown it again in later steps', async () => {
  const tool = fakeTool('calc', 'expression', { does: () => '2' });
  const stage = new Stage({ tools: [tool] });
  stage.model.seesPictures = true;
  const picture = { type: 'image/jpeg', bytes: Uint8Array.from([7]) } as const;
  const attachments = [{ kind: 'picture', name: 'photo', picture }] as const;
  const said = [{ fails: 'pictures_unsupported' }, calls(call('calc')), 'two'] as const;
  const played = await stage.play(said, { attachments });
  assert.equal(brief(played), 'two');
  const shown = played.requests.map(
    ({ lines }) => lines.filter((line) => 'pictures' in line).length,
  );
  assert.deepEqual(shown, [1, 0, 0]);
});

test('a model that sees is shown the picture at each step', async () => {
  const tool = fakeTool('calc', 'expression', { does: () => '2' });
  const stage = new Stage({ tools: [tool] });
  stage.model.seesPictures = true;
  const picture = { type: 'image/jpeg', bytes: Uint8Array.from([7]) } as const;
  const attachments = [{ kind: 'picture', name: 'photo', picture }] as const;
  const played = await stage.play([calls(call('calc')), 'two'], { attachments });
  assert.deepEqual(
    played.requests.map(({ lines }) => lines.filter((line) => 'pictures' in line).length),
    [1, 1],
  );
});

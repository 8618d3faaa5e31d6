/** The places of notes in prompts, so that each prompt continues the one before. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brief, call, calls, Stage, type Moment } from '../../../test/agents/play.ts';
import type { TurnRow } from '../../domain/conversation.ts';
import type { Note } from '../../domain/note.ts';
import { failure } from '../../domain/failure.ts';
import { ContextTrimmer } from '../models/context-trimmer.ts';
import type { ModelRequest } from '../models/model.ts';
import { createMemoryNote } from '../tools/memory-note.ts';
import { NotesUntilCut, placeNotes } from './prompt.ts';

const note = (at: number, text = `note ${at}`): Note => ({ at, text, sensitivity: 'public' });
const row = (at: number, text = `said ${at}`): TurnRow => {
  return { at, text, reply: 'yes', sensitivity: 'public' };
};
const textsOf = (notes: readonly Note[] = []): readonly string[] => notes.map(({ text }) => text);

test('without a window the newest notes that fit stand behind the system prompt', () => {
  const notes = ['old', '🍵🍵', 'new'].map((text, at) => note(at, text));
  const within = (budgetRunes: number) => {
    const placed = placeNotes(notes, { windowAt: undefined, rows: [row(1)], budgetRunes });
    assert.equal(placed.behind.size, 0);
    return textsOf(placed.first);
  };
  assert.deepEqual(within(8), ['old', '🍵🍵', 'new']);
  assert.deepEqual(within(7), ['🍵🍵', 'new']);
  assert.deepEqual(within(4), ['new']);
  assert.deepEqual(within(2), []);
});

test('a note of after the cut stands behind the first message after it', () => {
  const rows = [row(20), row(30, ''), row(40)];
  const notes = [note(5), note(15), note(25), note(45)];
  const { first, behind } = placeNotes(notes, { windowAt: 10, rows, budgetRunes: 100 });
  assert.deepEqual(textsOf(first), ['note 5']);
  assert.deepEqual(textsOf(behind.get(rows[0]!)), ['note 15']);
  assert.deepEqual(textsOf(behind.get(rows[2]!)), ['note 25'], 'a row without a text has no line');
  assert.deepEqual(textsOf(behind.get(null)), ['note 45']);
});

test('newer notes take no room of those of before, and the newest is never left out', () => {
  const place = (notes: readonly Note[], budgetRunes: number) => {
    const { first, behind } = placeNotes(notes, { windowAt: 10, rows: [], budgetRunes });
    return { first: textsOf(first), newer: textsOf(behind.get(null)) };
  };
  const before = ['aaaa', 'bbbb', 'cccc'].map((text, at) => note(at, text));
  const newer = ['1111', '2222', '3333', '4444'].map((text, at) => note(11 + at, text));
  const first = ['bbbb', 'cccc'];
  assert.deepEqual(place(before, 15), { first, newer: [] });
  assert.deepEqual(place([...before, newer[0]!], 15), { first, newer: ['1111'] });
  assert.deepEqual(place([...before, ...newer.slice(0, 2)], 15), { first, newer: ['2222'] });
  assert.deepEqual(place([...before, ...newer], 15), { first, newer: ['4444'] });
  const long = note(99, 'x'.repeat(10));
  assert.deepEqual(place([...before, long], 15), { first: ['cccc'], newer: [long.text] });
  assert.deepEqual(place([...before, note(99, 'x'.repeat(16))], 15), { first: [], newer: [] });
});

test('of too many newer notes the oldest half goes at once', () => {
  const left: number[] = [];
  for (let count = 1; count <= 12; count++) {
    const notes = Array.from({ length: count }, (_, at) => note(11 + at, 'xxxx'));
    const { behind } = placeNotes(notes, { windowAt: 10, rows: [], budgetRunes: 24 });
    left.push(behind.get(null)!.length);
  }
  assert.deepEqual(left, [1, 2, 3, 4, 5, 6, 3, 4, 5, 6, 3, 4]);
});

test('however many notes there are, each is measured a few times', () => {
  let read = 0;
  const notes = Array.from({ length: 300 }, (_, at): Note => {
    const get = (): string => (read++, 'xxxx');
    return Object.defineProperty(note(11 + at), 'text', { get });
  });
  placeNotes(notes, { windowAt: 10, rows: [], budgetRunes: 400 });
  assert.ok(read <= notes.length * 4, `${read}`);
});

test('a note that went for a newer one is shown up to the cut, one that was cleared is not', () => {
  const seen = new NotesUntilCut();
  const shown = (windowAt: number, ...at: number[]) =>
    seen
      .shown(
        'ada',
        windowAt,
        at.map((one) => note(one)),
        3,
      )
      .map((one) => one.at);
  assert.deepEqual(shown(9, 1, 2, 3), [1, 2, 3]);
  assert.deepEqual(shown(9, 2, 3, 10), [1, 2, 3, 10]);
  assert.deepEqual(shown(9, 10, 11, 12), [1, 2, 3, 10, 11, 12]);
  assert.deepEqual(shown(13, 10, 11, 12), [10, 11, 12], 'the next cut');
  assert.deepEqual(shown(13, 11, 12, 14), [10, 11, 12, 14]);
  assert.deepEqual(shown(13), [], 'cleared');
  assert.deepEqual(shown(13, 15), [15]);
  assert.deepEqual(shown(13, 15, 16, 17), [15, 16, 17]);
  assert.deepEqual(shown(13, 18, 19, 20), [18, 19, 20], 'cleared, and as many made at once');
  assert.deepEqual(shown(13, 20, 21), [20, 21], 'fewer than are kept: somebody took some away');
  assert.deepEqual(seen.shown('bob', 13, [note(21)], 3), [note(21)]);
});

test('a note outlasts the message that it stands behind, where a small context cuts', async () => {
  const scope = { kind: 'conversation' } as const;
  const stage = new Stage({ notes: { scope, notesMax: 5, budgetRunes: 500 } });
  const history = [10, 20, 30, 40, 50, 60].map((at) => row(at, `said ${at} `.repeat(40)));
  const notes = [note(15, 'Ada eats no nuts.'), note(25, 'Bo has a dog.')];
  const { requests } = await stage.play(['Fine.'], { notes, history, windowAt: 0 });
  const trimmer = new ContextTrimmer(null, 600);
  const sent: ModelRequest[] = [];
  for (let times = 0; times < 2; times++) {
    await trimmer.ask(requests[0]!, (one) => {
      sent.push(one);
      const isTooLong = sent.length === 1;
      return Promise.resolve(
        isTooLong
          ? { kind: 'failed', failure: failure('context_overflow'), tries: [] }
          : { kind: 'answer', text: 'ok', calls: [], usage: null, tries: [], linesDropped: 0 },
      );
    });
  }
  for (const { lines } of sent) {
    const texts = lines.map(({ text }) => text).join('\n');
    assert.doesNotMatch(texts, /said 30/, 'the messages are left out');
    for (const { text } of notes) assert.equal(texts.split(text).length, 2, `once: ${text}`);
  }
  assert.ok(sent[1]!.lines.length < sent[0]!.lines.length);
  assert.match(sent[1]!.lines[0]!.text, /^\[data MARK\][^]*\[end MARK\]\n\n/);
});

/** The part of a prompt with which the next one begins, in characters. */
function sharedOf(before: ModelRequest, after: ModelRequest): number {
  const [one, other] = [promptOf(before), promptOf(after)];
  let same = 0;
  while (same < one.length && one[same] === other[same]) same++;
  return same / one.length;
}
const promptOf = ({ system, lines }: ModelRequest): string =>
  [system, ...lines.map(({ role, text }) => `${role}: ${text}`)].join('\n');

/** Plays that many turns; the agent keeps a note in each. The window begins at 0. */
async function talk(stage: Stage, turns: number, notesMax: number, inText: boolean) {
  const [history, notes] = [[] as TurnRow[], [] as Note[]];
  const firsts: ModelRequest[] = [];
  for (let turn = 1; turn <= turns; turn++) {
    const at = turn * 10;
    const text = `${turn}: ${'What shall I remember of this? '.repeat(3)}`;
    const moment: Moment = { text, notes, history: [...history], windowAt: 0 };
    const given = { note: `Ada said ${turn}.` };
    const said = inText
      ? JSON.stringify({ tool: 'memory_note', arguments: given })
      : calls(call('memory_note', given));
    clock = at + 1;
    const played = await stage.play([said, `${turn}: ${'I will keep it. '.repeat(5)}`], moment);
    firsts.push(played.requests[0]!);
    history.push({ at, text, reply: brief(played), sensitivity: 'public' });
    assert.ok(notes.length <= notesMax);
  }
  return { firsts, notes, history };
}
let clock = 0;

for (const protocol of ['native', 'text'] as const) {
  test(`with a note in each turn a prompt goes on from the last one, ${protocol}`, async () => {
    const notesMax = 5;
    const stage = new Stage({
      tools: [createMemoryNote(200)],
      notes: { scope: { kind: 'conversation' }, notesMax, budgetRunes: 2_000 },
      systemPrompt: 'You are Kit.',
      now: () => clock,
    });
    if (protocol === 'text') await stage.play([{ fails: 'tools_unsupported' }, 'hello']);
    const { firsts, notes, history } = await talk(stage, 20, notesMax, protocol === 'text');
    assert.equal(notes.length, notesMax);
    for (let turn = 1; turn < firsts.length; turn++) {
      assert.equal(firsts[turn]!.system, firsts[0]!.system);
      assert.equal(sharedOf(firsts[turn - 1]!, firsts[turn]!), 1, `turn ${turn + 1}`);
    }
    const newest = firsts.at(-1)!.lines.at(-1)!.text;
    assert.match(
      newest,
      /\n\n\[data MARK\] notes that you kept since\n- Ada said 19\.\n\[end MARK\]$/,
    );
    notes.length = 0;
    const cleared = await stage.play(['gone'], { notes, history, windowAt: 0 });
    assert.doesNotMatch(promptOf(cleared.requests[0]!), /Ada said/);
  });
}

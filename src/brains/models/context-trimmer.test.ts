import { FakeBudgetGuard } from '../../../test/fake/budget-guard.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fromNow } from '../../../test/support/hand-clock.ts';
import { patienceMs } from '../../../test/support/waiting.ts';
import type { HistoryLine } from '../../domain/conversation.ts';
import { failure } from '../../domain/failure.ts';
import type { Outcome } from '../../domain/outcome.ts';
import { ContextTrimmer } from './context-trimmer.ts';
import type { ModelRequest } from './model.ts';

/** That many lines of 10 characters; the last one is the person's message. */
function requestOf(count: number): ModelRequest {
  const lines = Array.from({ length: count }, (_, index): HistoryLine => ({
    role: (count - index) % 2 === 1 ? 'user' : 'assistant',
    text: `line ${index}`.padEnd(10),
  }));
  return {
    sensitivity: 'public',
    system: null,
    lines,
    budgetGuard: new FakeBudgetGuard(),
    keptFrom: count - 1,
    tools: [],
    deadlineAt: fromNow(patienceMs),
  };
}

/** That many lines with one text; the last one is the person's message. */
function talkOf(count: number, text: string, last = text): ModelRequest {
  const request = requestOf(count);
  const lines = request.lines.map((line, index) => ({
    ...line,
    text: index === count - 1 ? last : text,
  }));
  return { ...request, lines };
}

/** Four letters are a token, and one Chinese character is a token. */
function tokensOf(text: string): number {
  const signs = text.match(/\p{Script=Han}/gu)?.length ?? 0;
  return signs + (text.length - signs) / 4;
}

/** A model that reads that much, and its requests. */
class Reader {
  readonly asked: ModelRequest[] = [];
  readonly #most: number;
  readonly #weigh: (text: string) => number;

  constructor(most: number, weigh = (text: string): number => text.length) {
    this.#most = most;
    this.#weigh = weigh;
  }

  readonly ask = (request: ModelRequest): Promise<Outcome> => {
    this.asked.push(request);
    const weight = request.lines.reduce((sum, line) => sum + this.#weigh(line.text), 0);
    const tries = [{ startedAt: 0, ms: 1, failed: null }];
    return Promise.resolve(
      weight > this.#most
        ? { kind: 'failed', failure: failure('context_overflow'), tries }
        : { kind: 'answer', text: 'ok', calls: [], usage: null, tries, linesDropped: 0 },
    );
  };
}

const dropped = (outcome: Outcome): number =>
  outcome.kind === 'answer' ? outcome.linesDropped : -1;

test('what fits is sent as it is', async () => {
  const reader = new Reader(1_000);
  const request = requestOf(9);
  assert.equal(dropped(await new ContextTrimmer().ask(request, reader.ask)), 0);
  assert.equal(reader.asked[0], request);
});

test('the oldest half goes on an overflow, and later requests are cut beforehand', async () => {
  const reader = new Reader(60);
  const trimmer = new ContextTrimmer();
  const first = await trimmer.ask(requestOf(11), reader.ask);
  assert.equal(first.tries.length, 2);
  // Half of ten is five; the answer that would then come first is dropped, too.
  assert.equal(dropped(first), 6);
  assert.equal(reader.asked.length, 2);
  const second = await trimmer.ask(requestOf(21), reader.ask);
  assert.equal(reader.asked.length, 3);
  assert.equal(dropped(second), 16);
  assert.equal(reader.asked[2]!.lines[0]!.role, 'user');
  assert.equal(dropped(await trimmer.ask(requestOf(3), reader.ask)), 0);
});

test('it is asked again until the model can read it, and less is sent the next time', async () => {
  const reader = new Reader(25);
  const trimmer = new ContextTrimmer();
  const first = await trimmer.ask(requestOf(11), reader.ask);
  assert.equal(dropped(first), 10);
  assert.deepEqual(
    reader.asked.map(({ lines }) => lines.length),
    [11, 5, 3, 1],
  );
  const second = await trimmer.ask(requestOf(11), reader.ask);
  assert.equal(dropped(second), 10);
  assert.equal(reader.asked.length, 5);
});

test('a person whose text is too long takes no history from another (ollama, 4,096)', async () => {
  const reader = new Reader(12_000);
  const trimmer = new ContextTrimmer();
  const anna = talkOf(11, 'a'.repeat(900));
  assert.equal(dropped(await trimmer.ask(anna, reader.ask)), 0);
  assert.equal((await trimmer.ask(talkOf(1, 'b'.repeat(20_000)), reader.ask)).kind, 'failed');
  const thanks = await trimmer.ask(talkOf(2, 'b'.repeat(20_000), 'thanks'), reader.ask);
  assert.equal(dropped(thanks), 1);
  for (let turns = 0; turns < 10; turns++) {
    assert.equal(dropped(await trimmer.ask(anna, reader.ask)), 0);
  }
});

test('a request that is called invalid is sent once more with half of its history', async () => {
  const trimmer = new ContextTrimmer();
  const refusing = (
    kind: 'rejected' | 'not_found' | 'unauthorized',
    status: number,
    lines: number,
  ) => {
    const asked: number[] = [];
    const ask = (request: ModelRequest): Promise<Outcome> => {
      asked.push(request.lines.length);
      const tries = [{ startedAt: 0, ms: 1, failed: null }];
      const isShort = request.lines.length <= lines;
      const answer = { text: 'ok', calls: [], usage: null, linesDropped: 0 };
      if (isShort) return Promise.resolve({ kind: 'answer', ...answer, tries });
      return Promise.resolve({ kind: 'failed', failure: failure(kind, { status }), tries });
    };
    return { asked, ask };
  };
  for (const status of [400, 422]) {
    const short = refusing('rejected', status, 5);
    assert.equal(dropped(await trimmer.ask(requestOf(11), short.ask)), 6);
    const never = refusing('rejected', status, 0);
    assert.equal((await trimmer.ask(requestOf(11), never.ask)).kind, 'failed');
    assert.deepEqual(never.asked, [11, 5]);
  }
  for (const [kind, status] of [
    ['not_found', 404],
    ['unauthorized', 401],
  ] as const) {
    const { asked, ask } = refusing(kind, status, 5);
    await trimmer.ask(requestOf(11), ask);
    assert.deepEqual(asked, [11]);
  }
});

test('an answer that the request left no room for is asked for with less history', async () => {
  const cutAbove = (lines: number, usage: { inputTokens: number; outputTokens: number }) => {
    const asked: number[] = [];
    const ask = (request: ModelRequest): Promise<Outcome> => {
      asked.push(request.lines.length);
      const tries = [{ startedAt: 0, ms: 1, failed: null }];
      const isCut = request.lines.length > lines ? { isCut: true as const } : {};
      const answer = { text: 'ok', calls: [], usage, linesDropped: 0, tries, ...isCut };
      return Promise.resolve({ kind: 'answer', ...answer });
    };
    return { asked, ask };
  };
  const crowded = cutAbove(5, { inputTokens: 4_074, outputTokens: 22 });
  const whole = await new ContextTrimmer().ask(requestOf(11), crowded.ask);
  assert.ok(whole.kind === 'answer' && whole.isCut === undefined);
  assert.deepEqual(crowded.asked, [11, 5]);
  const long = cutAbove(0, { inputTokens: 100, outputTokens: 4_096 });
  const cut = await new ContextTrimmer().ask(requestOf(11), long.ask);
  assert.ok(cut.kind === 'answer' && cut.isCut === true);
  assert.deepEqual(long.asked, [11], 'less history would not make it shorter');
  const bounded = cutAbove(0, { inputTokens: 4_000, outputTokens: 300 });
  await new ContextTrimmer(300).ask(requestOf(11), bounded.ask);
  assert.deepEqual(bounded.asked, [11], 'it was told to be as short as that');
});

test('a message that is too long by itself is a failure, and cuts nothing later', async () => {
  const reader = new Reader(5);
  const trimmer = new ContextTrimmer();
  const outcome = await trimmer.ask(requestOf(1), reader.ask);
  assert.equal(outcome.kind, 'failed');
  assert.equal(reader.asked.length, 1);
  await trimmer.ask(requestOf(5), new Reader(1_000).ask);
});

test('a text that is too long by itself teaches nothing, whatever was said before it', async () => {
  const trimmer = new ContextTrimmer();
  const reader = new Reader(12_000);
  const long = await trimmer.ask(talkOf(3, 'hello', 'b'.repeat(13_000)), reader.ask);
  assert.equal(long.kind, 'failed');
  assert.equal(dropped(await trimmer.ask(talkOf(11, 'a'.repeat(900)), reader.ask)), 0);
});

test('what dense text has taught is unlearnt by and by, for everybody', async () => {
  const reader = new Reader(4_000, tokensOf);
  const trimmer = new ContextTrimmer();
  const dense = await trimmer.ask(talkOf(13, '字'.repeat(500)), reader.ask);
  assert.ok(dropped(dense) > 0);
  // 13,000 letters are 3,250 tokens.
  const light = talkOf(13, 'a'.repeat(1_000));
  const left: number[] = [];
  for (let turns = 0; turns < 20; turns++) {
    left.push(dropped(await trimmer.ask(light, reader.ask)));
  }
  assert.equal(left.at(-1), 0, left.join());
  assert.ok(left[0]! <= 8, `text of one weight is cut alike: ${left[0]}`);
});

test('a window that is really small costs a second call now and then, and no answer', async () => {
  const reader = new Reader(2_500);
  const trimmer = new ContextTrimmer();
  const turns = 200;
  for (let turn = 0; turn < turns; turn++) {
    const outcome = await trimmer.ask(talkOf(41, 'a'.repeat(100)), reader.ask);
    assert.equal(outcome.kind, 'answer');
  }
  const again = reader.asked.length - turns;
  assert.ok(again <= turns / 8, `${again} second calls in ${turns} turns`);
});

test('of what requests under way together have taught the least is kept', async () => {
  const reader = new Reader(6_000);
  const trimmer = new ContextTrimmer();
  const talk = talkOf(41, 'a'.repeat(200));
  const [learnt, hopeless] = await Promise.all([
    trimmer.ask(talk, reader.ask),
    trimmer.ask(talkOf(3, 'a', 'b'.repeat(20_000)), reader.ask),
  ]);
  assert.deepEqual([learnt.kind, hopeless.kind], ['answer', 'failed']);
  const asked = reader.asked.length;
  assert.ok(dropped(await trimmer.ask(talk, reader.ask)) > 0);
  assert.equal(reader.asked.length, asked + 1, 'it is cut beforehand');
});

test('a picture takes room: what overflows because of one cuts no texts from then on', async () => {
  const picture = { type: 'image/jpeg', bytes: Uint8Array.from([1]) } as const;
  const withPicture = talkOf(11, 'x'.repeat(100));
  const last = { role: 'user', text: 'look', pictures: [picture] } as const;
  const shown = { ...withPicture, lines: [...withPicture.lines.slice(0, -1), last] };
  const weigh = (request: ModelRequest): number =>
    request.lines.reduce((sum, line) => {
      const pictures = 'pictures' in line ? (line.pictures?.length ?? 0) : 0;
      return sum + line.text.length + pictures * 6_000;
    }, 0);
  const sent: ModelRequest[] = [];
  const ask = (request: ModelRequest): Promise<Outcome> => {
    sent.push(request);
    const tries = [{ startedAt: 0, ms: 1, failed: null }];
    if (weigh(request) > 6_700) {
      return Promise.resolve({ kind: 'failed', failure: failure('context_overflow'), tries });
    }
    const answer = { text: 'ok', calls: [], usage: null, linesDropped: 0 };
    return Promise.resolve({ kind: 'answer', ...answer, tries });
  };
  const trimmer = new ContextTrimmer();
  assert.ok(dropped(await trimmer.ask(shown, ask)) > 0);
  assert.equal(dropped(await trimmer.ask(withPicture, ask)), 0);
  sent.length = 0;
  assert.ok(dropped(await trimmer.ask(shown, ask)) > 0);
  assert.equal(sent.length, 1, 'it is cut beforehand');
});

/** Answers like a model that reads `contextTokens`: with a refusal, or with the tokens read. */
class Tokenizer {
  readonly asked: ModelRequest[] = [];
  readonly #contextTokens: number;
  readonly #tokensOf: (text: string) => number;
  refusals = 0;

  constructor(contextTokens: number, weigh = (text: string): number => text.length / 4) {
    this.#contextTokens = contextTokens;
    this.#tokensOf = weigh;
  }

  readonly ask = (request: ModelRequest): Promise<Outcome> => {
    this.asked.push(request);
    const inputTokens = Math.ceil(this.#tokensOf(promptOf(request)));
    const tries = [{ startedAt: 0, ms: 1, failed: null }];
    if (inputTokens > this.#contextTokens) {
      this.refusals++;
      return Promise.resolve({ kind: 'failed', failure: failure('context_overflow'), tries });
    }
    const answer = { text: 'ok', calls: [], usage: { inputTokens, outputTokens: 9 } };
    return Promise.resolve({ kind: 'answer', ...answer, tries, linesDropped: 0 });
  };
}

const promptOf = ({ system, lines }: ModelRequest): string =>
  (system ?? '') + lines.map(({ role, text }) => `${role}: ${text}\n`).join('');

/**
 * A conversation whose window loses its oldest half at 40 turns of about 200 characters.
 * @returns the request of each turn, without an end
 */
function* turnsOf(said = (turn: number): string => `${turn} `.padEnd(100, 'word ')) {
  let history: HistoryLine[] = [];
  for (let turn = 0; ; turn++) {
    const lines = [...history, { role: 'user' as const, text: said(turn) }];
    yield {
      ...requestOf(1),
      system: 'You are brief. '.repeat(20),
      lines,
      keptFrom: lines.length - 1,
    };
    history = [...lines, { role: 'assistant', text: said(-turn) }];
    if (history.length > 80) history = history.slice(40);
  }
}

/** The part of each prompt with which the next one begins, on average over 100 turns. */
async function shareOver(trimmer: ContextTrimmer, model: Tokenizer, warmUp: number) {
  const turns = turnsOf();
  const sent: string[] = [];
  for (let turn = 0; turn < warmUp + 101; turn++) {
    const outcome = await trimmer.ask(turns.next().value!, model.ask);
    assert.equal(outcome.kind, 'answer');
    sent.push(promptOf(model.asked.at(-1)!));
  }
  const prompts = sent.slice(-101);
  const shares = prompts.slice(1).map((prompt, index) => {
    const before = prompts[index]!;
    let same = 0;
    while (same < before.length && before[same] === prompt[same]) same++;
    return same / before.length;
  });
  return shares.reduce((sum, share) => sum + share, 0) / shares.length;
}

test('nine tenths of a prompt begin the next one within a bound that was learnt', async () => {
  for (const contextTokens of [1_300, 1_700, 1_900, 2_100]) {
    const model = new Tokenizer(contextTokens);
    const share = await shareOver(new ContextTrimmer(), model, 200);
    assert.ok(model.refusals > 0, `${contextTokens} cuts something`);
    // A context of fewer than 25 turns is cut three times while the window is cut once.
    const least = contextTokens < 1_700 ? 0.8 : 0.9;
    assert.ok(share >= least, `${contextTokens}: ${share}`);
  }
});

test('nine tenths of a prompt begin the next one within context_tokens', async () => {
  for (const contextTokens of [1_500, 2_560, 3_000, 4_096]) {
    const model = new Tokenizer(contextTokens);
    const share = await shareOver(new ContextTrimmer(null, contextTokens), model, 200);
    assert.equal(model.refusals, 0);
    assert.ok(share >= (contextTokens < 2_560 ? 0.8 : 0.9), `${contextTokens}: ${share}`);
  }
});

test('what is cut begins with the person, and with nothing less than a whole turn', async () => {
  const model = new Tokenizer(Infinity);
  const trimmer = new ContextTrimmer(null, 600);
  const turns = turnsOf();
  for (let turn = 0; turn < 60; turn++) await trimmer.ask(turns.next().value!, model.ask);
  assert.ok(model.asked.every(({ lines, keptFrom }) => lines.length === keptFrom + 1));
  assert.ok(model.asked.every(({ lines }) => lines[0]!.role === 'user'));
});

test('context_tokens cuts before the first call, and leaves room for the answer', async () => {
  const room = async (outputTokensMax: number | null): Promise<number> => {
    const model = new Tokenizer(Infinity);
    const trimmer = new ContextTrimmer(outputTokensMax, 4_096);
    const outcome = await trimmer.ask(talkOf(201, 'a'.repeat(100)), model.ask);
    assert.ok(dropped(outcome) > 0);
    assert.equal(model.asked.length, 1);
    return 4_096 - promptOf(model.asked[0]!).length / 4;
  };
  assert.ok((await room(null)) >= 1_024);
  assert.ok((await room(2_000)) >= 2_000);
  assert.ok((await room(1_000_000)) < 4_000, 'half of the context is for what is read');
  const model = new Tokenizer(Infinity);
  const talk = { ...talkOf(201, 'a'.repeat(100)), outputTokensMax: 16 };
  await new ContextTrimmer(2_000, 4_096).ask(talk, model.ask);
  assert.ok(promptOf(model.asked[0]!).length / 4 > 2_096, 'a short answer needs less room');
});

test('tools take room, and so does a picture', async () => {
  const tool = { name: 't', description: 'x'.repeat(5_000), parameters: {} };
  const picture = { type: 'image/jpeg', bytes: Uint8Array.from([1]) } as const;
  const talk = talkOf(41, 'a'.repeat(200));
  const last = { role: 'user', text: 'look', pictures: [picture] } as const;
  const cut = async (request: ModelRequest): Promise<number> =>
    dropped(await new ContextTrimmer(null, 4_096).ask(request, new Tokenizer(Infinity).ask));
  assert.equal(await cut(talk), 0);
  assert.ok((await cut({ ...talk, tools: [tool] })) > 0);
  assert.ok((await cut({ ...talk, lines: [...talk.lines.slice(0, -1), last] })) > 0);
});

test('a message longer than context_tokens is sent whole, without its history', async () => {
  const model = new Tokenizer(Infinity);
  const long = 'b'.repeat(50_000);
  await new ContextTrimmer(null, 4_096).ask(talkOf(9, 'a'.repeat(100), long), model.ask);
  assert.deepEqual(
    model.asked.map(({ lines }) => lines.map(({ text }) => text)),
    [[long]],
  );
});

test('how many bytes a token has is learnt: dense text at once, light text later', async () => {
  const dense = new Tokenizer(4_096, tokensOf);
  const trimmer = new ContextTrimmer(null, 4_096);
  const chinese = talkOf(81, '字'.repeat(100));
  await trimmer.ask(chinese, dense.ask);
  assert.equal(dense.refusals, 0, 'three bytes are a token');
  const denser = new Tokenizer(4_096, (text) => text.length / 2);
  const english = talkOf(81, 'a'.repeat(150));
  const lengths: number[] = [];
  for (let turns = 0; turns < 3; turns++) {
    await trimmer.ask(english, denser.ask);
    lengths.push(denser.asked.at(-1)!.lines.length);
  }
  assert.ok(lengths[1]! < lengths[0]!, lengths.join());
  assert.equal(lengths[2], lengths[1]);
  const light = new Tokenizer(4_096);
  for (let turns = 0; turns < 40; turns++) await trimmer.ask(english, light.ask);
  assert.ok(light.asked.at(-1)!.lines.length > lengths[1]!);
  assert.equal(light.refusals, 0);
});

test('tokens that Ollama leaves out for its cache make no text lighter (ollama#3427)', async () => {
  const trimmer = new ContextTrimmer(null, 4_096);
  const talk = talkOf(81, 'a'.repeat(150));
  const model = new Tokenizer(4_096, (text) => text.length / 3);
  await trimmer.ask(talk, model.ask);
  const before = model.asked.at(-1)!.lines.length;
  const cached = async (request: ModelRequest): Promise<Outcome> => {
    const outcome = await model.ask(request);
    const usage = { inputTokens: 600, outputTokens: 9 };
    return outcome.kind === 'answer' ? { ...outcome, usage } : outcome;
  };
  for (let turns = 0; turns < 40; turns++) await trimmer.ask(talk, cached);
  assert.equal(model.asked.at(-1)!.lines.length, before);
  assert.equal(model.refusals, 0);
});

type CutUsage = { readonly inputTokens: number | null; readonly outputTokens: number | null };

/** A model that cuts its answer if the request has more lines than that, and its requests. */
function cutting(lines: number, usage: CutUsage | null, text = 'some words') {
  const asked: number[] = [];
  const ask = (request: ModelRequest): Promise<Outcome> => {
    asked.push(request.lines.length);
    const tries = [{ startedAt: 0, ms: 1, failed: null }];
    const isCut = request.lines.length > lines ? { isCut: true as const } : {};
    if (text === '' && request.lines.length > lines) {
      const empty = { ...failure('empty_answer'), ...isCut };
      return Promise.resolve({ kind: 'failed', failure: empty, tries });
    }
    const answer = { text: text || 'ok', calls: [], usage, linesDropped: 0, tries, ...isCut };
    return Promise.resolve({ kind: 'answer', ...answer });
  };
  return { asked, ask };
}

test('an answer that was cut is asked for again, whatever is told of its tokens', async () => {
  const talk = talkOf(11, 'a'.repeat(200));
  const twice = [11, 5];
  for (const usage of [
    null,
    { inputTokens: null, outputTokens: 22 },
    // Ollama had nearly the whole prompt in its cache: ollama#3427.
    { inputTokens: 4, outputTokens: 22 },
  ]) {
    const { asked, ask } = cutting(5, usage);
    const outcome = await new ContextTrimmer().ask(talk, ask);
    assert.deepEqual([asked, dropped(outcome)], [twice, 6], JSON.stringify(usage));
  }
  const nothing = cutting(5, null, '');
  assert.equal(dropped(await new ContextTrimmer().ask(talk, nothing.ask)), 6);
  assert.deepEqual(nothing.asked, twice, 'the context was over before the first word');
  const long = cutting(0, null, 'long '.repeat(1_000));
  await new ContextTrimmer().ask(talk, long.ask);
  assert.deepEqual(long.asked, [11], 'less history would not make it shorter');
  const bounded = cutting(0, null, 'words '.repeat(100));
  await new ContextTrimmer(200).ask(talk, bounded.ask);
  assert.deepEqual(bounded.asked, [11], 'it was told to be as short as that');
});

test('asking again ends before the turn does, so that the answer in hand is not lost', async () => {
  for (const text of ['some words', '']) {
    const { ask } = cutting(5, null, text);
    const request = talkOf(11, 'a'.repeat(200));
    const early: boolean[] = [];
    const late = (sent: ModelRequest): Promise<Outcome> => {
      early.push(sent.deadlineAt < request.deadlineAt);
      if (early.length === 1) return ask(sent);
      return Promise.resolve({ kind: 'failed', failure: failure('deadline'), tries: [] });
    };
    const outcome = await new ContextTrimmer().ask(request, late);
    assert.deepEqual(early, [false, text !== ''], 'without an answer all the time is left');
    assert.equal(outcome.kind, text === '' ? 'failed' : 'answer');
  }
});

test('a request that left its answer no room is cut beforehand the next time', async () => {
  const trimmer = new ContextTrimmer();
  const { asked, ask } = cutting(7, { inputTokens: 4_074, outputTokens: 22 });
  const talk = talkOf(11, 'a'.repeat(2_000));
  assert.equal(dropped(await trimmer.ask(talk, ask)), 6);
  assert.ok(dropped(await trimmer.ask(talk, ask)) > 0);
  assert.deepEqual(asked.slice(0, 2), [11, 5]);
  assert.equal(asked.length, 3, 'it is asked once');
});

test('an answer that its server keeps short is asked for again once, not each time', async () => {
  // mistral-vibe#1118, FastFlowLM#749: 4,096 tokens if a request has no limit.
  const limit = { inputTokens: 9_000, outputTokens: 4_096 };
  const trimmer = new ContextTrimmer();
  const talk = talkOf(11, 'a'.repeat(4_000));
  const { asked, ask } = cutting(0, limit);
  assert.equal(dropped(await trimmer.ask(talk, ask)), 6);
  assert.equal(dropped(await trimmer.ask(talk, ask)), 0);
  assert.deepEqual(asked, [11, 5, 11], 'less history has not made it longer');
  const crowded = cutting(5, { inputTokens: 9_000, outputTokens: 300 });
  assert.equal(dropped(await trimmer.ask(talk, crowded.ask)), 6);
  assert.deepEqual(crowded.asked, [11, 5], 'another length is no limit of the server');
});

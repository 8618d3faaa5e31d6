/**
 * Fits a conversation to what a model can read. The wires ask for an error instead of a silent cut;
 * on that error the oldest half of the history is left out and the model is asked once more. How
 * many bytes fitted is remembered, so that the next request is cut beforehand.
 *
 * A model counts tokens, which are a few bytes each: more of them in one language than in another.
 * So the remembered size may be too little for other texts, and with every cut request that is
 * answered it grows by a sixteenth, until nothing is cut or the model says again that it is too
 * much.
 *
 * A picture takes room, too: about 1,600 tokens at most of a model that is told to see in full, so
 * it counts as a text of that many.
 */
import type { Outcome } from '../domain/outcome.ts';
import { picturesOn, type ModelRequest, type RequestLine } from './model.ts';

const growth = 1 / 16;
/** 1,600 tokens of four bytes each. */
const bytesPerPicture = 6_400;

export class ContextTrimmer {
  /** In UTF-8 bytes; Infinity: no request was too long yet. */
  #bytesMax = Infinity;

  /** @param ask one call to the provider */
  async ask(
    request: ModelRequest,
    ask: (request: ModelRequest) => Promise<Outcome>,
  ): Promise<Outcome> {
    const cut = this.#cutToFit(request);
    const first = await ask(cut);
    if (first.kind === 'answer') {
      if (cut !== request) this.#bytesMax += this.#bytesMax * growth;
      return withDropped(first, request, cut);
    }
    if (first.failure.kind !== 'context_overflow' || cut.keptFrom === 0) return first;
    const half = dropOldest(cut, Math.ceil(cut.keptFrom / 2));
    const second = await ask(half);
    const tries = [...first.tries, ...second.tries];
    if (second.kind === 'answer') {
      this.#learn(bytesOf(half));
      return { ...withDropped(second, request, half), tries };
    }
    if (second.failure.kind === 'context_overflow') this.#learn(bytesOf(half) / 2);
    return { ...second, tries };
  }

  /** Requests that are under way together learn in any order: the smallest size counts. */
  #learn(bytes: number): void {
    this.#bytesMax = Math.min(this.#bytesMax, bytes);
  }

  #cutToFit(request: ModelRequest): ModelRequest {
    if (this.#bytesMax === Infinity) return request;
    const { lines, keptFrom } = request;
    let bytes = bytesOf(request);
    let dropped = 0;
    while (dropped < keptFrom && bytes > this.#bytesMax) {
      bytes -= bytesOfLine(lines[dropped]!);
      dropped++;
    }
    return dropped === 0 ? request : dropOldest(request, dropped);
  }
}

/** Leaves out so many lines, and any answers that would then come first; never a kept line. */
function dropOldest(request: ModelRequest, count: number): ModelRequest {
  const { lines, keptFrom } = request;
  let first = count;
  while (first < keptFrom && lines[first]!.role === 'assistant') first++;
  return { ...request, lines: lines.slice(first), keptFrom: keptFrom - first };
}

function bytesOf({ system, lines }: ModelRequest): number {
  let bytes = system === null ? 0 : Buffer.byteLength(system);
  for (const line of lines) bytes += bytesOfLine(line);
  return bytes;
}

function bytesOfLine(line: RequestLine): number {
  return Buffer.byteLength(line.text) + picturesOn(line).length * bytesPerPicture;
}

function withDropped(
  answer: Extract<Outcome, { kind: 'answer' }>,
  whole: ModelRequest,
  sent: ModelRequest,
): Outcome {
  const linesDropped = whole.lines.length - sent.lines.length;
  return linesDropped === 0 ? answer : { ...answer, linesDropped };
}

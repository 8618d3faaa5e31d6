/**
 * Fits a conversation to what a model can read. The wires ask for an error instead of a silent cut;
 * on that error the oldest half of the history is left out and the model is asked again, until it
 * can read the rest. How many bytes it can read is remembered, so that the next request is cut
 * beforehand.
 *
 * A model counts tokens, which are a few bytes each: more of them in one language than in another.
 * So a refusal says little of other texts. It teaches half of the size that was refused, and never
 * less than a size that was answered. With every cut request that is answered the remembered size
 * grows by a sixteenth, and slowly where it comes near the size that was refused, until nothing is
 * cut or the model says again that it is too much.
 *
 * Not every provider says in words that svc knows that a request is too long: one that it calls
 * invalid is sent once more with half of its history, which teaches nothing.
 *
 * A picture takes room, too: about 1,600 tokens at most of a model that is told to see in full, so
 * it counts as a text of that many.
 */
import type { Failure } from '../domain/failure.ts';
import type { Outcome } from '../domain/outcome.ts';
import { picturesOn, type ModelRequest, type RequestLine } from './model.ts';

const growth = 1 / 16;
/** Of the size that was refused. */
const slowGrowth = 1 / 256;
/** What is left of the size that was answered when a smaller one is refused. */
const decay = 7 / 8;
/** 1,600 tokens of four bytes each. */
const bytesPerPicture = 6_400;
/** A window of history halved so often is empty. */
const halvingsMax = 6;

type Answer = Extract<Outcome, { kind: 'answer' }>;

export class ContextTrimmer {
  /** In UTF-8 bytes; Infinity: no request was too long yet. */
  #bytesMax = Infinity;
  /** The largest request that was answered, in UTF-8 bytes. */
  #answeredMax = 0;
  /** The smallest that was refused and was larger than that. */
  #refusedMin = Infinity;
  readonly #outputTokensMax: number | null;

  /** @param outputTokensMax what the model's answers are bounded by; null: nothing */
  constructor(outputTokensMax: number | null = null) {
    this.#outputTokensMax = outputTokensMax;
  }

  /** @param ask one call to the provider */
  async ask(
    request: ModelRequest,
    ask: (request: ModelRequest) => Promise<Outcome>,
  ): Promise<Outcome> {
    let sent = this.#cutToFit(request);
    let crowded: Answer | null = null;
    let tries: Outcome['tries'] = [];
    const refused: ModelRequest[] = [];
    for (let halvings = 0; ; halvings++) {
      const outcome = await ask(sent);
      tries = tries.length === 0 ? outcome.tries : [...tries, ...outcome.tries];
      const mayHalve = sent.keptFrom > 0 && halvings < halvingsMax;
      if (outcome.kind === 'answer') {
        const isCrowded = mayHalve && crowded === null && this.#isCrowded(outcome);
        const told = { ...withDropped(outcome, request, sent), tries };
        this.#learn(refused.splice(0));
        if (!isCrowded) {
          this.#fitted(sent, halvings === 0 && sent !== request);
          return told;
        }
        crowded = told;
      } else {
        const isTooLong = outcome.failure.kind === 'context_overflow';
        const mayBeTooLong = isTooLong || (halvings === 0 && isUnknown(outcome.failure));
        if (!mayHalve || !mayBeTooLong) {
          // One text that is too long by itself says nothing of others.
          if (!isTooLong || sent.lines.length > 1) this.#learn(refused);
          return { ...(crowded ?? outcome), tries };
        }
        if (isTooLong) refused.push(sent);
      }
      sent = dropOldest(sent, Math.ceil(sent.keptFrom / 2));
    }
  }

  /** The request left the answer too little room: it is longer, and the answer was cut. */
  #isCrowded({ isCut, usage }: Answer): boolean {
    if (isCut !== true) return false;
    const { inputTokens, outputTokens } = usage ?? {};
    const isOwnLimit = (outputTokens ?? 0) >= (this.#outputTokensMax ?? Infinity);
    return !isOwnLimit && (inputTokens ?? 0) > (outputTokens ?? Infinity);
  }

  #fitted(sent: ModelRequest, wasCut: boolean): void {
    this.#answeredMax = Math.max(this.#answeredMax, bytesOf(sent));
    if (this.#answeredMax >= this.#refusedMin) this.#refusedMin = Infinity;
    if (wasCut) this.#grow();
    this.#bytesMax = Math.max(this.#bytesMax, this.#answeredMax);
  }

  #grow(): void {
    const grown = this.#bytesMax * (1 + growth);
    if (grown < this.#refusedMin) this.#bytesMax = grown;
    else this.#refusedMin *= 1 + slowGrowth;
  }

  #learn(refused: readonly ModelRequest[]): void {
    for (const request of refused) this.#refused(request);
  }

  /** Requests that are under way together learn in any order: the smallest size counts. */
  #refused(sent: ModelRequest): void {
    const bytes = bytesOf(sent);
    if (bytes <= this.#answeredMax) {
      this.#answeredMax *= decay;
      return;
    }
    this.#refusedMin = Math.min(this.#refusedMin, bytes);
    this.#bytesMax = Math.min(this.#bytesMax, Math.max(this.#answeredMax, bytes / 2));
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

/** Nothing tells why it was refused; its length may be why. */
function isUnknown({ kind, status }: Failure): boolean {
  return kind === 'rejected' && (status === 400 || status === 422);
}

function withDropped(answer: Answer, whole: ModelRequest, sent: ModelRequest): Answer {
  const linesDropped = whole.lines.length - sent.lines.length;
  return linesDropped === 0 ? answer : { ...answer, linesDropped };
}

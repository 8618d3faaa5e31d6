/**
 * Fits a conversation to what a model can read. The wires ask for an error instead of a silent cut;
 * on that error the oldest half of the history is left out and the model is asked again, until it
 * can read the rest. How many bytes it can read is remembered, so that the next request is cut
 * beforehand. `context_tokens` is a second bound, which holds from the first request on.
 *
 * The cut before a call is a replay of the conversation from its oldest line: where a line does not
 * fit any more, the oldest half of the history so far goes at once. It depends on the lines and the
 * bound alone. So each prompt goes on from the one before until the next cut, and a provider's
 * cache of prefixes can be used. The bound changes seldom, since each change moves the cuts.
 *
 * A model counts tokens, which are a few bytes each: more of them in one language than in another.
 * So a refusal says little of other texts. It teaches half of the size that was refused, and never
 * less than a size that was answered. An answered request that came near the remembered size lets
 * it grow by an eighth, and so do eight that were cut. It grows slowly towards a size that was
 * refused, until nothing is cut or the model says again that it is too much.
 *
 * A request that leaves too little room for its answer, which is cut, is sent once more with half
 * of its history. Where that answer is whole, it teaches the same as a refusal. Where it is cut at
 * the same length, the server bounds its answers by itself, and svc asks no more for that.
 *
 * Not every provider says in words that svc knows that a request is too long: one that it calls
 * invalid is sent once more with half of its history, which teaches nothing.
 *
 * A picture takes room, too: about 1,600 tokens at most of a model that is told to see in full, so
 * it counts as a text of that many.
 */
import type { Failure } from '../../domain/failure.ts';
import type { Outcome, Usage } from '../../domain/outcome.ts';
import { later } from '../../lib/clock.ts';
import { picturesOn, type ModelRequest, type RequestLine, type ToolNotice } from './model.ts';

const growth = 1 / 8;
/** Of the size that was refused. */
const slowGrowth = 1 / 256;
/** An answered request of this part of the bound shows that the bound holds. */
const nearBound = 15 / 16;
/** So many requests that were cut and answered let the bound grow, however small they were. */
const cutsBetweenGrowths = 8;
/** What is left of the size that was answered when a smaller one is refused. */
const decay = 7 / 8;
/** 1,600 tokens of four bytes each. */
const bytesPerPicture = 6_400;
/** A window of history halved so often is empty. */
const halvingsMax = 6;
/** An answer without `max_output_tokens` gets a quarter of the context, and no more than this. */
const answerTokensMax = 4_096;
/** So long before its turn is over the asking again ends: then the answer in hand is the reply. */
const inHandMs = 500;

/** In tokens. Answers shorter than that, which end at one length, tell of a full context. */
const serverLimitLeast = 64;

/** What an answer tells of its tokens, as far as it matters here. */
type Told = Pick<Usage, 'inputTokens' | 'outputTokens'>;

export class ContextTrimmer {
  /** In UTF-8 bytes; Infinity: no request was too long yet. */
  #bytesMax = Infinity;
  /** The largest request that was answered, in UTF-8 bytes. */
  #answeredMax = 0;
  /** The smallest that was refused and was larger than that. */
  #refusedMin = Infinity;
  /** Requests that were cut beforehand and answered since the bound changed. */
  #cutsAnswered = 0;
  /** The length in tokens at which the server cuts its answers by itself; null: none was seen. */
  #serverLimit: number | null = null;
  readonly #outputTokensMax: number | null;
  readonly #contextTokens: number | null;
  readonly #density = new Density();

  /**
   * @param outputTokensMax what the model's answers are bounded by; null: nothing
   * @param contextTokens what the model reads and writes in one call; null: nobody knows
   */
  constructor(outputTokensMax: number | null = null, contextTokens: number | null = null) {
    this.#outputTokensMax = outputTokensMax;
    this.#contextTokens = contextTokens;
  }

  /** @param ask one call to the provider */
  async ask(
    request: ModelRequest,
    ask: (request: ModelRequest) => Promise<Outcome>,
  ): Promise<Outcome> {
    let sent = cutToFit(request, Math.min(this.#bytesMax, this.#bytesOfContext()));
    let crowded: { readonly sent: ModelRequest; readonly outcome: Outcome } | null = null;
    let tries: Outcome['tries'] = [];
    const refused: ModelRequest[] = [];
    for (let halvings = 0; ; halvings++) {
      const outcome = await ask(sent);
      tries = tries.length === 0 ? outcome.tries : [...tries, ...outcome.tries];
      const mayHalve = sent.keptFrom > 0 && halvings < halvingsMax;
      if (crowded !== null) this.#compare(crowded.outcome, outcome);
      if (mayHalve && crowded === null && this.#isCrowded(sent, outcome)) {
        crowded = { sent, outcome: withDropped(outcome, request, sent) };
        this.#learn(refused.splice(0));
        if (outcome.kind === 'answer') sent = endingSooner(sent);
      } else if (outcome.kind === 'answer') {
        if (crowded !== null && outcome.isCut !== true) refused.push(crowded.sent);
        this.#learn(refused);
        this.#fitted(sent, outcome.usage, halvings === 0 && sent !== request);
        return { ...withDropped(outcome, request, sent), tries };
      } else {
        const isTooLong = outcome.failure.kind === 'context_overflow';
        const mayBeTooLong = isTooLong || (halvings === 0 && isUnknown(outcome.failure));
        if (!mayHalve || !mayBeTooLong) {
          // One text that is too long by itself says nothing of others.
          if (!isTooLong || sent.lines.length > 1) this.#learn(refused);
          return { ...(crowded?.outcome ?? outcome), tries };
        }
        if (isTooLong) refused.push(sent);
      }
      sent = dropOldest(sent, Math.ceil(sent.keptFrom / 2));
    }
  }

  /** What of a request fits beside its answer, in UTF-8 bytes; Infinity: no bound is known. */
  #bytesOfContext(): number {
    const context = this.#contextTokens;
    if (context === null) return Infinity;
    const room = this.#outputTokensMax ?? Math.min(context / 4, answerTokensMax);
    return (context - Math.min(room, context / 2)) * this.#density.bytesPerToken * nearBound;
  }

  /**
   * The request left the answer too little room: it is longer, and the answer was cut, perhaps
   * before its first word. What the provider does not tell is estimated.
   */
  #isCrowded(sent: ModelRequest, outcome: Outcome): boolean {
    const usage = toldBy(outcome);
    const wrote = usage?.outputTokens ?? null;
    if (!isCut(outcome) || (wrote !== null && wrote === this.#serverLimit)) return false;
    const text = outcome.kind === 'answer' ? outcome.text : '';
    const bytes = bytesOf(sent);
    const told = usage?.inputTokens ?? null;
    // Ollama of 2024 left out what it had in its cache: ollama#3427.
    const isWhole = told !== null && (bytes / told <= bytesPerTokenMax || hasPictures(sent));
    const input = isWhole ? told : this.#density.tokensOf(bytes);
    const output = wrote ?? this.#density.tokensOf(Buffer.byteLength(text));
    // An estimate may be half of what it was.
    const ownLimit = (this.#outputTokensMax ?? Infinity) / (wrote === null ? 2 : 1);
    return output < ownLimit && input > output;
  }

  /** Of two answers to one message, the second with less history. */
  #compare(first: Outcome, second: Outcome): void {
    const length = toldBy(second)?.outputTokens ?? 0;
    if (!isCut(second) || length < serverLimitLeast) return;
    if (length === toldBy(first)?.outputTokens) this.#serverLimit = length;
  }

  #fitted(sent: ModelRequest, usage: Told | null, wasCut: boolean): void {
    const bytes = bytesOf(sent);
    const tokens = usage?.inputTokens ?? 0;
    // A short request is mostly what the model's template adds.
    if (this.#contextTokens !== null && tokens >= this.#contextTokens / 8 && !hasPictures(sent)) {
      this.#density.saw(bytes / tokens);
    }
    this.#answeredMax = Math.max(this.#answeredMax, bytes);
    if (this.#answeredMax >= this.#refusedMin) this.#refusedMin = Infinity;
    if (wasCut) this.#cutsAnswered++;
    const isNear = bytes >= this.#bytesMax * nearBound;
    if (isNear || this.#cutsAnswered >= cutsBetweenGrowths) this.#grow();
    this.#bytesMax = Math.max(this.#bytesMax, this.#answeredMax);
  }

  #grow(): void {
    this.#cutsAnswered = 0;
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
    this.#cutsAnswered = 0;
  }
}

/** Few texts have more, so a provider that tells of fewer tokens has left some out. */
const bytesPerTokenMax = 6;
/** A denser estimate is of little use, and a lighter one was not seen. */
const bytesPerTokenLeast = 1;
const bytesPerTokenMost = 4.5;
const answersBetweenRises = 16;

/**
 * How many bytes of a request are a token, as the model's own answers showed. A denser text counts
 * at once; lighter ones count when many answers have shown no denser one, since each change moves
 * the cut of all conversations.
 */
class Density {
  /** Begins with what holds for most languages. */
  bytesPerToken = 3;
  #lowest = Infinity;
  #seen = 0;

  tokensOf(bytes: number): number {
    return Math.ceil(bytes / this.bytesPerToken);
  }

  saw(bytesPerToken: number): void {
    if (bytesPerToken > bytesPerTokenMax) return;
    this.#lowest = Math.min(this.#lowest, bytesPerToken);
    const isDenser = bytesPerToken < this.bytesPerToken * nearBound;
    if (!isDenser && ++this.#seen < answersBetweenRises) return;
    const isLighter = this.#lowest > this.bytesPerToken * (1 + growth);
    if (isDenser || isLighter) {
      const seen = Math.max(this.#lowest, bytesPerTokenLeast);
      this.bytesPerToken = Math.min(seen, bytesPerTokenMost);
    }
    [this.#lowest, this.#seen] = [Infinity, 0];
  }
}

/**
 * Replays the conversation: where a line does not fit any more, the oldest half of the history so
 * far goes. What `keptFrom` protects stays, also where it alone is too long.
 */
function cutToFit(request: ModelRequest, bytesMax: number): ModelRequest {
  if (bytesMax === Infinity) return request;
  const { lines, keptFrom } = request;
  let fixed = bytesAround(request);
  let first = 0;
  let history = 0;
  let kept = 0;
  for (const [index, line] of lines.entries()) {
    const bytes = bytesOfLine(line);
    const end = Math.min(index, keptFrom);
    while (first < end && fixed + history + kept + bytes > bytesMax) {
      const half = history / 2;
      do {
        const gone = lines[first++]!;
        history -= bytesOfLine(gone);
        fixed += Buffer.byteLength(outlastingOn(gone));
      } while (first < end && (history > half || lines[first]!.role === 'assistant'));
    }
    if (index < keptFrom) history += bytes;
    else kept += bytes;
  }
  return first === 0 ? request : dropOldest(request, first);
}

function endingSooner(request: ModelRequest): ModelRequest {
  return { ...request, deadlineAt: later(request.deadlineAt, -inHandMs) };
}

/**
 * Leaves out so many lines, and any answers that would then come first; never a kept line. What
 * outlasts these goes before the first that is left.
 */
function dropOldest(request: ModelRequest, count: number): ModelRequest {
  const { lines, keptFrom } = request;
  let first = count;
  while (first < keptFrom && lines[first]!.role === 'assistant') first++;
  const [next, ...rest] = lines.slice(first);
  const before = lines.slice(0, first).map(outlastingOn);
  const left = [withBefore(next!, before.filter((text) => text !== '').join('\n\n')), ...rest];
  return { ...request, lines: left, keptFrom: keptFrom - first };
}

function outlastingOn(line: RequestLine): string {
  return 'outlasting' in line ? (line.outlasting ?? '') : '';
}

function withBefore(line: RequestLine, before: string): RequestLine {
  if (before === '' || line.role === 'calls' || line.role === 'result') return line;
  const own = outlastingOn(line);
  const outlasting = own === '' ? before : `${before}\n\n${own}`;
  return { ...line, text: `${before}\n\n${line.text}`, outlasting };
}

function bytesOf(request: ModelRequest): number {
  return request.lines.reduce((bytes, line) => bytes + bytesOfLine(line), bytesAround(request));
}

/** What a request has beside its lines. */
function bytesAround({ system, tools }: ModelRequest): number {
  const ofTools = tools.length === 0 ? 0 : bytesOfTools(tools);
  return (system === null ? 0 : Buffer.byteLength(system)) + ofTools;
}

const toolsMeasured = new WeakMap<readonly ToolNotice[], number>();

/** A turn's steps share one list of tools. */
function bytesOfTools(tools: readonly ToolNotice[]): number {
  const known = toolsMeasured.get(tools);
  if (known !== undefined) return known;
  const bytes = Buffer.byteLength(JSON.stringify(tools));
  toolsMeasured.set(tools, bytes);
  return bytes;
}

function bytesOfLine(line: RequestLine): number {
  const calls = line.role === 'calls' ? Buffer.byteLength(JSON.stringify(line.calls)) : 0;
  return Buffer.byteLength(line.text) + calls + picturesOn(line).length * bytesPerPicture;
}

function hasPictures({ lines }: ModelRequest): boolean {
  return lines.some((line) => picturesOn(line).length > 0);
}

/** Nothing tells why it was refused; its length may be why. */
function isUnknown({ kind, status }: Failure): boolean {
  return kind === 'rejected' && (status === 400 || status === 422);
}

function withDropped<O extends Outcome>(outcome: O, whole: ModelRequest, sent: ModelRequest): O {
  const linesDropped = whole.lines.length - sent.lines.length;
  return linesDropped === 0 || outcome.kind === 'failed' ? outcome : { ...outcome, linesDropped };
}

function isCut(outcome: Outcome): boolean {
  return (outcome.kind === 'answer' ? outcome : outcome.failure).isCut === true;
}

/** Null: it told nothing, or of a failed call there is an estimate alone. */
function toldBy(outcome: Outcome): Told | null {
  if (outcome.kind === 'answer') return outcome.usage;
  const { tries } = outcome;
  const tokens = tries.at(-1)?.tokens;
  if (tokens == null || tokens.estimated) return null;
  return { inputTokens: tokens.input, outputTokens: tokens.output };
}

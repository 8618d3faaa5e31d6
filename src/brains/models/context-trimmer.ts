/**
 * Trims a conversation to the context of a model. Requests ask for an error instead of a silent
 * cut. After that error, the oldest half of the history is left out and the model is asked again,
 * until it can read the rest. The readable size in bytes is remembered, so that the next request is
 * cut before it is sent. `context_tokens` is a second bound, which applies from the first request
 * on.
 *
 * The cut before a call replays the conversation from its oldest line. When a line does not fit,
 * the oldest half of the history up to it is dropped at once. The cut depends only on the lines and
 * the bound. So each prompt continues the one before until the next cut, and a provider's prefix
 * cache works. The bound changes seldom, because each change moves the cuts.
 *
 * A model counts tokens. A token is a few bytes, and their number differs between languages, so a
 * refusal says little about other texts. A refusal lowers the bound to half of the refused size,
 * but never below an answered size. The bound grows by an eighth after an answered request near the
 * bound, or after eight answered requests that were cut. It grows slowly towards a refused size,
 * until nothing is cut or the model refuses again.
 *
 * A request may leave too little room for its answer, so that the answer is cut. It is then sent
 * once more with half of its history. If the second answer is whole, it counts like a refusal. If
 * it is cut at the same length, the server limits its answers, and svc does not try this again.
 *
 * Some providers refuse a long request with words that svc does not know. A request that a provider
 * calls invalid is sent once more with half of its history. The bound learns nothing from that.
 *
 * A picture counts as a text of about 1,600 tokens, the most that models with full detail need.
 */
import type { Failure } from '../../domain/failure.ts';
import type { Outcome, Usage } from '../../domain/outcome.ts';
import { later } from '../../lib/clock.ts';
import { outputLimitOf, picturesOn, type ModelRequest, type RequestLine } from './model.ts';
import type { ToolNotice } from '../../domain/completion.ts';

const growth = 1 / 8;
/** The part by which the refused size grows. */
const slowGrowth = 1 / 256;
/** An answered request of at least this part of the bound confirms the bound. */
const nearBound = 15 / 16;
/** After so many cut and answered requests of any size, the bound grows. */
const cutsBetweenGrowths = 8;
/** The answered size shrinks to this part when a smaller request is refused. */
const decay = 7 / 8;
/** 1,600 tokens of four bytes each. */
const bytesPerPicture = 6_400;
/** A window of history is empty after so many halvings. */
const halvingsMax = 6;
/** The most room for an answer without `max_output_tokens`, which gets a quarter of the context. */
const answerTokensMax = 4_096;
/** A second try ends so long before the turn's deadline; then the first answer is the reply. */
const replyReserveMs = 500;

/** In tokens. Shorter answers that are cut at one length mean a full context, not a limit. */
const serverLimitMin = 64;

type ReportedTokens = Pick<Usage, 'inputTokens' | 'outputTokens'>;

export class ContextTrimmer {
  /** In UTF-8 bytes; Infinity: no request was refused yet. */
  #bytesMax = Infinity;
  /** The size of the largest answered request, in UTF-8 bytes. */
  #answeredMax = 0;
  /** The size of the smallest refused request above `#answeredMax`. */
  #refusedMin = Infinity;
  /** The number of answered requests that were cut, since the bound changed. */
  #cutsAnswered = 0;
  /** The length in tokens at which the server cuts its answers; null: no such limit was seen. */
  #serverLimit: number | null = null;
  readonly #outputTokensMax: number | null;
  readonly #contextTokens: number | null;
  readonly #density = new Density();

  /**
   * @param outputTokensMax the limit of an answer; null: none
   * @param contextTokens the tokens that the model reads and writes in one call; null: unknown
   */
  constructor(outputTokensMax: number | null = null, contextTokens: number | null = null) {
    this.#outputTokensMax = outputTokensMax;
    this.#contextTokens = contextTokens;
  }

  /** @param ask makes one call to the provider */
  async ask(
    request: ModelRequest,
    ask: (request: ModelRequest) => Promise<Outcome>,
  ): Promise<Outcome> {
    let sent = cutToFit(request, Math.min(this.#bytesMax, this.#bytesOfContext(request)));
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
        if (outcome.kind === 'answer') sent = withEarlierDeadline(sent);
      } else if (outcome.kind === 'answer') {
        if (crowded !== null && outcome.isCut !== true) refused.push(crowded.sent);
        this.#learn(refused);
        this.#learnFromAnswer(sent, outcome.usage, halvings === 0 && sent !== request);
        return { ...withDropped(outcome, request, sent), tries };
      } else {
        const isTooLong = outcome.failure.kind === 'context_overflow';
        const mayBeTooLong = isTooLong || (halvings === 0 && isUnknown(outcome.failure));
        if (!mayHalve || !mayBeTooLong) {
          // A single text that is too long says nothing about conversations.
          if (!isTooLong || sent.lines.length > 1) this.#learn(refused);
          return { ...(crowded?.outcome ?? outcome), tries };
        }
        if (isTooLong) refused.push(sent);
      }
      sent = dropOldest(sent, Math.ceil(sent.keptFrom / 2));
    }
  }

  /**
   * The request size that leaves room for the answer, in UTF-8 bytes; Infinity: no bound is known.
   */
  #bytesOfContext(request: ModelRequest): number {
    const context = this.#contextTokens;
    if (context === null) return Infinity;
    const limit = outputLimitOf(request, this.#outputTokensMax);
    const room = limit ?? Math.min(context / 4, answerTokensMax);
    return (context - Math.min(room, context / 2)) * this.#density.bytesPerToken * nearBound;
  }

  /**
   * Whether the request left too little room for the answer: the answer was cut, perhaps before its
   * first word, and is shorter than the request. Numbers that the provider does not report are
   * estimated.
   */
  #isCrowded(sent: ModelRequest, outcome: Outcome): boolean {
    const isShown = sent.isShownForGood === true && sent.onText !== undefined;
    if (isShown && outcome.kind === 'answer') return false;
    const usage = reportedTokens(outcome);
    const reportedOutput = usage?.outputTokens ?? null;
    if (!isCut(outcome) || (reportedOutput !== null && reportedOutput === this.#serverLimit))
      return false;
    const text = outcome.kind === 'answer' ? outcome.text : '';
    const bytes = bytesOf(sent);
    const reportedInput = usage?.inputTokens ?? null;
    // Ollama of 2024 did not count tokens from its cache: ollama#3427.
    const isWhole =
      reportedInput !== null && (bytes / reportedInput <= bytesPerTokenMax || hasPictures(sent));
    const input = isWhole ? reportedInput : this.#density.tokensOf(bytes);
    const output = reportedOutput ?? this.#density.tokensOf(Buffer.byteLength(text));
    // The real number may be twice the estimate.
    const limit = outputLimitOf(sent, this.#outputTokensMax) ?? Infinity;
    const ownLimit = limit / (reportedOutput === null ? 2 : 1);
    return output < ownLimit && input > output;
  }

  /** Compares two answers to one message; the second had less history. */
  #compare(first: Outcome, second: Outcome): void {
    const length = reportedTokens(second)?.outputTokens ?? 0;
    if (!isCut(second) || length < serverLimitMin) return;
    if (length === reportedTokens(first)?.outputTokens) this.#serverLimit = length;
  }

  #learnFromAnswer(sent: ModelRequest, usage: ReportedTokens | null, wasCut: boolean): void {
    const bytes = bytesOf(sent);
    const tokens = usage?.inputTokens ?? 0;
    // A short request consists mostly of the model's template.
    if (this.#contextTokens !== null && tokens >= this.#contextTokens / 8 && !hasPictures(sent)) {
      this.#density.learn(bytes / tokens);
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
    for (const request of refused) this.#learnFromRefusal(request);
  }

  /** Parallel requests may be refused in any order, so the smallest size counts. */
  #learnFromRefusal(sent: ModelRequest): void {
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

/** Few texts have more bytes per token, so a provider with a lower count has left some out. */
const bytesPerTokenMax = 6;
/** The bounds of the estimate: a denser one is of little use, and a lighter one was never seen. */
const bytesPerTokenFloor = 1;
const bytesPerTokenCeiling = 4.5;
const answersBetweenRises = 16;

/**
 * The bytes per token of a model, estimated from its answers. A denser text counts at once. Lighter
 * texts count only after many answers without a denser one, because each change moves the cut of
 * all conversations.
 */
class Density {
  /** The start value is right for most languages. */
  bytesPerToken = 3;
  #lowest = Infinity;
  #seen = 0;

  tokensOf(bytes: number): number {
    return Math.ceil(bytes / this.bytesPerToken);
  }

  learn(bytesPerToken: number): void {
    if (bytesPerToken > bytesPerTokenMax) return;
    this.#lowest = Math.min(this.#lowest, bytesPerToken);
    const isDenser = bytesPerToken < this.bytesPerToken * nearBound;
    if (!isDenser && ++this.#seen < answersBetweenRises) return;
    const isLighter = this.#lowest > this.bytesPerToken * (1 + growth);
    if (isDenser || isLighter) {
      const seen = Math.max(this.#lowest, bytesPerTokenFloor);
      this.bytesPerToken = Math.min(seen, bytesPerTokenCeiling);
    }
    [this.#lowest, this.#seen] = [Infinity, 0];
  }
}

/**
 * Replays the conversation. When a line does not fit, the oldest half of the history up to it is
 * dropped. The lines from `keptFrom` on stay, even if they alone are too long.
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
        const dropped = lines[first++]!;
        history -= bytesOfLine(dropped);
        fixed += Buffer.byteLength(outlastingOn(dropped));
      } while (first < end && (history > half || lines[first]!.role === 'assistant'));
    }
    if (index < keptFrom) history += bytes;
    else kept += bytes;
  }
  return first === 0 ? request : dropOldest(request, first);
}

function withEarlierDeadline(request: ModelRequest): ModelRequest {
  return { ...request, deadlineAt: later(request.deadlineAt, -replyReserveMs) };
}

/**
 * Drops that many lines, and the answers that would then come first, but never a kept line. The
 * outlasting texts of dropped lines go before the first remaining line.
 */
function dropOldest(request: ModelRequest, count: number): ModelRequest {
  const { lines, keptFrom } = request;
  let first = count;
  while (first < keptFrom && lines[first]!.role === 'assistant') first++;
  const [next, ...rest] = lines.slice(first);
  const before = lines.slice(0, first).map(outlastingOn);
  const remaining = [withBefore(next!, before.filter((text) => text !== '').join('\n\n')), ...rest];
  return { ...request, lines: remaining, keptFrom: keptFrom - first };
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

/** The size of a request without its lines. */
function bytesAround({ system, tools }: ModelRequest): number {
  const ofTools = tools.length === 0 ? 0 : bytesOfTools(tools);
  return (system === null ? 0 : Buffer.byteLength(system)) + ofTools;
}

const toolBytes = new WeakMap<readonly ToolNotice[], number>();

/** Cached, because all steps of a turn share one list of tools. */
function bytesOfTools(tools: readonly ToolNotice[]): number {
  const known = toolBytes.get(tools);
  if (known !== undefined) return known;
  const bytes = Buffer.byteLength(JSON.stringify(tools));
  toolBytes.set(tools, bytes);
  return bytes;
}

function bytesOfLine(line: RequestLine): number {
  const calls = line.role === 'calls' ? Buffer.byteLength(JSON.stringify(line.calls)) : 0;
  return Buffer.byteLength(line.text) + calls + picturesOn(line).length * bytesPerPicture;
}

function hasPictures({ lines }: ModelRequest): boolean {
  return lines.some((line) => picturesOn(line).length > 0);
}

/** Whether the reason of the refusal is unknown, so that it may be the length. */
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

/** Null: not reported, or only an estimate of a failed call. */
function reportedTokens(outcome: Outcome): ReportedTokens | null {
  if (outcome.kind === 'answer') return outcome.usage;
  const { tries } = outcome;
  const tokens = tries.at(-1)?.tokens;
  if (tokens == null || tokens.estimated) return null;
  return { inputTokens: tokens.input, outputTokens: tokens.output };
}

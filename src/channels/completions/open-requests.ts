/**
 * The requests that wait for an answer, and the limits on their number. All running configurations
 * of a process share one such object, so a reload breaks no request under way.
 */
import type { ServerResponse } from 'node:http';
import type { CompletionEnd } from '../../domain/completion.ts';
import type { ConversationId, MessageId } from '../../domain/ids.ts';
import type { Reply } from '../../domain/reply.ts';
import type { TokenCheck } from '../../lib/bearer.ts';
import type { Clock, SteadyTime } from '../../lib/clock.ts';
import type { Deadline, Deadlines } from '../../lib/deadlines.ts';
import { ByteSemaphore } from '../../lib/fair-queue.ts';
import type { OpenRequest } from '../channel.ts';
import { sendJson, sendRefusal, type ApiCall, type ApiRefusal } from './api-frame.ts';
import {
  answerText,
  ChunkWriter,
  errorEvent,
  errorText,
  finalAnswerOf,
  refusalOfEnd,
  settledText,
  type AnswerFacts,
  type GivenPicture,
  type ParsedRequest,
} from './wire.ts';

const bodiesBytesMax = 128 * 1_048_576;
const minuteMs = 60_000;
/**
 * A stream without new text sends a chunk without text this often, so that no proxy closes it. Some
 * clients fail at comments: jundot/omlx#839.
 */
const silentMs = 15_000;

/** `perMinute` null: no limit. */
type RequestLimits = { readonly inFlightMax: number; readonly perMinute: number | null };

export class OpenRequests {
  /** The newest channel, and its check of a client's bearer; null: no channel runs. */
  newest: { readonly channel: object; readonly check: TokenCheck } | null = null;
  /** Holds the bytes of large bodies. */
  readonly bodies = new ByteSemaphore(bodiesBytesMax);
  readonly #responses = new Set<ServerResponse>();
  readonly #waiting = new Map<ConversationId, WaitingRequest>();
  /** The times of the requests of the last minute, oldest first, while there is a limit. */
  #times: SteadyTime[] = [];

  /**
   * Counts a request until its response closes.
   * @returns the milliseconds until there may be room; null: the request may begin
   */
  enter(response: ServerResponse, limits: RequestLimits, now: SteadyTime): number | null {
    const { inFlightMax, perMinute } = limits;
    if (this.#responses.size >= inFlightMax) return 1_000;
    this.#times = perMinute === null ? [] : this.#times.filter((at) => now - at < minuteMs);
    if (perMinute !== null) {
      const oldest = this.#times.at(-perMinute);
      if (oldest !== undefined) return oldest + minuteMs - now;
      this.#times.push(now);
    }
    this.#responses.add(response);
    response.once('close', () => this.#responses.delete(response));
    return null;
  }

  /** Keeps the request until its client has its answer, or has gone. */
  add(conversation: ConversationId, request: WaitingRequest, response: ServerResponse): void {
    this.#waiting.set(conversation, request);
    response.once('close', () => this.#waiting.delete(conversation));
  }

  find(conversation: ConversationId): WaitingRequest | null {
    return this.#waiting.get(conversation) ?? null;
  }

  /** Ends the requests that wait. */
  failAll(): void {
    for (const request of this.#waiting.values()) request.fail('stopped');
  }

  /** Closes the connections of all requests. */
  destroyAll(): void {
    for (const response of this.#responses) response.destroy();
  }
}

const failures = {
  stopped: {
    status: 503,
    code: 'shutting_down',
    message: 'The service is stopping and has ended this request. Ask again in a moment.',
    headers: { 'retry-after': '1' },
  },
  deleted: {
    status: 503,
    code: 'deleted',
    message: 'The message of this request was deleted before its answer was ready.',
    headers: { 'x-should-retry': 'false' },
  },
  changed: {
    status: 500,
    code: 'answer_changed',
    message: 'Another answer has replaced the one that began here. Ask again without streaming.',
  },
  unknown: { status: 500, code: 'fault', message: 'Something went wrong here.' },
} as const satisfies Record<string, ApiRefusal>;

const streamHead = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  'x-accel-buffering': 'no',
};

export type WaitingDeps = Pick<Clock, 'now'> & {
  readonly call: ApiCall;
  readonly parsed: ParsedRequest;
  readonly deadlines: Deadlines;
};

/** One request that waits for its answer. */
export class WaitingRequest implements OpenRequest {
  /** Resolves when no picture of the request is in memory any more. */
  readonly withoutPictures: Promise<void>;
  readonly #deps: WaitingDeps;
  readonly #created: number;
  #dropped = (): void => {};
  #id: MessageId | null = null;
  #end: CompletionEnd | null = null;
  /** The newest text that was shown. */
  #shown = '';
  /** The text that was sent. */
  #sent = '';
  /** null: the stream has not begun. */
  #chunks: ChunkWriter | null = null;
  #silence: Deadline | null = null;
  #isOver = false;

  constructor(deps: WaitingDeps) {
    this.#deps = deps;
    this.#created = Math.floor(deps.now() / 1_000);
    this.withoutPictures = new Promise((resolve) => (this.#dropped = resolve));
    this.#checkPictures();
    const { response } = deps.call;
    response.once('close', () => this.#close());
    if (!deps.parsed.isStream) return;
    response.on('drain', () => this.#grow());
    this.#waitSilently();
  }

  get request(): ParsedRequest['request'] {
    return this.#deps.parsed.request;
  }

  get gone(): ApiCall['gone'] {
    return this.#deps.call.gone;
  }

  get isStream(): boolean {
    return this.#deps.parsed.isStream;
  }

  /** The message has been accepted. Its id is that of the answer. */
  accepted(id: MessageId): void {
    this.#identify(id);
    this.#grow();
  }

  /** The message has not been accepted. */
  refuse(refusal: ApiRefusal): void {
    if (this.#isOver) return;
    this.#close();
    this.#deps.call.refuse(refusal);
  }

  /** Gives a picture once. Only the newest pictures are there. */
  takePicture(file: string): GivenPicture | null {
    const { pictures } = this.#deps.parsed;
    const picture = pictures.get(file) ?? null;
    pictures.delete(file);
    this.#checkPictures();
    return picture;
  }

  show(whole: string): void {
    this.#shown = whole;
    this.#grow();
  }

  end(end: CompletionEnd): void {
    this.#end = end;
    for (const file of this.#deps.parsed.pictures.keys()) this.takePicture(file);
  }

  fail(reason: 'stopped' | 'deleted'): void {
    this.#sendError(failures[reason]);
  }

  /**
   * Sends the end.
   * @returns false: the client has gone
   */
  finish(reply: Reply): boolean {
    if (this.#isOver) return false;
    this.#identify(reply.inReplyTo);
    const end = this.#end;
    if (end === null) this.#sendError(failures.unknown);
    else if (end.kind === 'refused') this.#sendError(refusalOfEnd(end, '', this.#deps.now()));
    else if (end.decision.kind === 'reply') this.#sendAnswer(end.decision, end.usage);
    else this.#sendError(refusalOfEnd(end.decision, reply.text, this.#deps.now()));
    return true;
  }

  /** Text waits while the message has no id, and while the client takes none. */
  #grow(): void {
    const { parsed, call } = this.#deps;
    if (!parsed.isStream || this.#isOver || this.#id === null) return;
    if (call.response.writableNeedDrain) return;
    const text = settledText(this.#shown, parsed.stops);
    if (text.length > this.#sent.length && text.startsWith(this.#sent)) {
      this.#write(this.#newText(text));
    }
  }

  /** The events for the text that is new. */
  #newText(text: string): string {
    const begun = this.#begun();
    const more = text.slice(this.#sent.length);
    this.#sent = text;
    return begun + (more === '' ? '' : this.#chunks!.text(more));
  }

  #sendAnswer(
    decision: Parameters<typeof finalAnswerOf>[0],
    usage: Parameters<typeof answerText>[2],
  ): void {
    const { parsed, call } = this.#deps;
    const final = finalAnswerOf(decision, parsed);
    if (!parsed.isStream) {
      this.#close();
      return sendJson(call.response, answerText(this.#facts, final, usage));
    }
    if (!final.text.startsWith(this.#sent)) return this.#sendError(failures.changed);
    this.#endStream(this.#newText(final.text) + this.#chunks!.last(final, usage));
  }

  #sendError(refusal: ApiRefusal): void {
    if (this.#isOver) return;
    if (this.#chunks !== null) return this.#endStream(errorEvent(refusal));
    this.#close();
    sendRefusal(this.#deps.call.response, refusal, errorText(refusal));
  }

  #endStream(events: string): void {
    this.#close();
    this.#deps.call.response.end(events);
  }

  /** Begins the stream with its role, once. */
  #begun(): string {
    if (this.#chunks !== null) return '';
    this.#chunks = new ChunkWriter(this.#facts, this.#deps.parsed.includesUsage);
    this.#deps.call.response.writeHead(200, streamHead);
    return this.#chunks.first();
  }

  #identify(id: MessageId): void {
    const { response } = this.#deps.call;
    this.#id = id;
    if (!response.headersSent) response.setHeader('x-request-id', id);
  }

  get #facts(): AnswerFacts {
    const model = this.#deps.parsed.request.brain;
    return { id: `chatcmpl-${this.#id}`, created: this.#created, model };
  }

  #write(events: string): void {
    this.#deps.call.response.write(events);
    this.#waitSilently();
  }

  #waitSilently(): void {
    this.#silence?.cancel();
    this.#silence = this.#deps.deadlines.after(silentMs, () => {
      if (this.#id === null || this.#deps.call.response.writableNeedDrain) {
        return this.#waitSilently();
      }
      this.#write(this.#begun() || this.#chunks!.silence());
    });
  }

  /** Nothing more happens on its own. */
  #close(): void {
    this.#isOver = true;
    this.#silence?.cancel();
    this.#deps.parsed.pictures.clear();
    this.#dropped();
  }

  #checkPictures(): void {
    if (this.#deps.parsed.pictures.size === 0) this.#dropped();
  }
}

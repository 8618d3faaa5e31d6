/**
 * The requests that wait for an answer, and the limits on their number. All running configurations
 * of a process share one such object, so a reload breaks no request under way.
 */
import type { ServerResponse } from 'node:http';
import type { CompletionsConfig } from '../../config/config.ts';
import type { CompletionEnd, CompletionRequest } from '../../domain/completion.ts';
import { completionIdPrefix, type ConversationId, type MessageId } from '../../domain/ids.ts';
import type { Reply } from '../../domain/reply.ts';
import type { TokenCheck } from '../../lib/bearer.ts';
import type { Clock, SteadyTime } from '../../lib/clock.ts';
import type { Deadline, Deadlines } from '../../lib/deadlines.ts';
import { ByteSemaphore } from '../../lib/fair-queue.ts';
import type { Stop } from '../../lib/stop.ts';
import type { OpenRequest } from '../channel.ts';
import { sendJson, type ApiCall, type ApiRefusal } from '../api-frame.ts';
import { sharedRefusals } from '../refusals.ts';
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
/** Of the texts of all open requests, in memory. */
const charactersMax = 64 * 1_048_576;
const minuteMs = 60_000;
/**
 * A stream without new text sends a chunk without text this often, so that no proxy closes it. Some
 * clients fail at comments: jundot/omlx#839.
 */
const silentMs = 15_000;

type RequestLimits = Pick<CompletionsConfig, 'inFlightMax' | 'requestsPerMinute'>;

export class OpenRequests {
  /** The newest channel, and its check of a client's bearer; null: no channel runs. */
  newest: { readonly channel: object; readonly check: TokenCheck } | null = null;
  /** Holds the bytes of large bodies. */
  readonly bodies = new ByteSemaphore(bodiesBytesMax);
  readonly #responses = new Set<ServerResponse>();
  readonly #waiting = new Map<ConversationId, WaitingRequest>();
  #characters = 0;
  /** The times of the requests of the last minute, oldest first, while there is a limit. */
  #times: SteadyTime[] = [];

  /**
   * Counts a request until its response closes.
   * @returns the milliseconds until there may be room; null: the request may begin
   */
  enter(response: ServerResponse, limits: RequestLimits, now: SteadyTime): number | null {
    const { inFlightMax, requestsPerMinute: perMinute } = limits;
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

  /** Whether there is memory for the texts of one more request. */
  hasRoom({ characters }: Pick<ParsedRequest, 'characters'>): boolean {
    return this.#characters + characters <= charactersMax;
  }

  /** Keeps the request until its client has its answer, or has gone. */
  add(conversation: ConversationId, request: WaitingRequest, response: ServerResponse): void {
    const { characters } = request;
    this.#waiting.set(conversation, request);
    this.#characters += characters;
    response.once('close', () => {
      this.#waiting.delete(conversation);
      this.#characters -= characters;
    });
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
    detail: 'The service is stopping and has ended this request. Ask again in a moment.',
    headers: { 'retry-after': '1' },
  },
  deleted: {
    status: 503,
    code: 'deleted',
    detail: 'The message of this request was deleted before its answer was ready.',
    headers: { 'x-should-retry': 'false' },
  },
  changed: {
    status: 500,
    code: 'answer_changed',
    detail: 'Another answer has replaced the one that began here. Ask again without streaming.',
  },
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
  readonly request: CompletionRequest;
  readonly gone: Stop;
  readonly isStream: boolean;
  readonly characters: number;
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
    const { parsed, call } = deps;
    ({ request: this.request, isStream: this.isStream, characters: this.characters } = parsed);
    this.gone = call.gone;
    this.#deps = deps;
    this.#created = Math.floor(deps.now() / 1_000);
    this.withoutPictures = new Promise((resolve) => (this.#dropped = resolve));
    this.#checkPictures();
    call.response.once('close', () => this.#close());
    if (!parsed.isStream) return;
    call.response.on('drain', () => this.#grow());
    this.#waitSilently();
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
    this.#deps.parsed.pictures.clear();
    this.#checkPictures();
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
    if (end === null) this.#sendError(sharedRefusals.fault);
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
    sendJson(this.#deps.call.response, errorText(refusal), refusal);
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
    const id = `${completionIdPrefix}${this.#id}`;
    return { id, created: this.#created, model: this.request.brain };
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

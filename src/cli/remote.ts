/**
 * The running service, asked over its admin address. It speaks for the ledger that the process
 * owns: what is only in its memory can be read nowhere else, and while it holds the database it is
 * the only one that writes.
 */
import { pairingSchema, pairingsSchema, unpairedSchema } from '../admin/gate-schema.ts';
import { Misshapen, object, read, type Described, type Schema } from '../admin/schema.ts';
import { problemSchema } from '../admin/status-schema.ts';
import * as stories from '../admin/story-schema.ts';
import type { ListenAddress } from '../config/config.ts';
import type { Admission, Admissions, PairingRemoval } from '../domain/gate.ts';
import type { NotesOf } from '../domain/note.ts';
import type { PageAsked } from '../domain/page.ts';
import type { ConversationKey, Whose } from '../domain/story.ts';
import { createDeadlines } from '../lib/deadlines.ts';
import {
  createHttpClient,
  type HttpClient,
  type HttpFault,
  type HttpRequest,
} from '../lib/http-client.ts';
import type { DeadLetterMove, Ledger, LedgerReader } from '../store/store.ts';
import { plainLine } from './plain-text.ts';

/** What changes the ledger at a person's word. */
export type LedgerWrites = Pick<Ledger, 'replay' | 'discard' | 'forget' | 'clearNotes'>;

/**
 * Why the service gave no answer, in sentences for the person who asked. Thrown, since neither the
 * reader's contract nor the writer's knows a refusal; `ledger/access.ts` alone catches it.
 */
export class Unanswered extends Error {
  override readonly name = 'Unanswered';
}

export type Bearer =
  | { readonly kind: 'token'; readonly variable: string; readonly token: string }
  /** What is missing, and what to do about it. */
  | { readonly kind: 'none'; readonly message: string };

export type RemoteOptions = {
  readonly address: ListenAddress;
  readonly bearer: Bearer;
  readonly version: string;
  /** Gives up the question under way. */
  readonly stop: AbortSignal;
};

const answerMs = 30_000;
/** The service keeps its pages well below this. */
const bodyBytesMax = 128 * 1024 * 1024;

type Question = {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly principal: 'reader' | 'operator';
};

type Given = { readonly status: number; readonly body: unknown };

export class Remote implements LedgerReader, LedgerWrites, Admissions {
  readonly #origin: URL;
  readonly #options: RemoteOptions;
  readonly #http: HttpClient = createHttpClient(createDeadlines());

  constructor(options: RemoteOptions) {
    this.#options = options;
    this.#origin = originOf(options.address);
  }

  story(messageId: string) {
    return this.#find('reader', `messages/${part(messageId)}`, stories.storySchema);
  }

  storyText(messageId: string) {
    return this.#find('operator', `messages/${part(messageId)}/text`, stories.storyTextSchema);
  }

  deadLetters(page: PageAsked) {
    return this.#read('reader', `dead-letters?${query(page)}`, stories.deadLettersSchema);
  }

  async deadLetterReasons() {
    const schema = stories.deadLetterReasonsSchema;
    return (await this.#read('reader', 'dead-letters/reasons', schema)).rows;
  }

  deadLetter(id: string) {
    return this.#find('operator', `dead-letters/${part(id)}`, stories.deadLetterTextSchema);
  }

  conversations(page: PageAsked) {
    return this.#read('operator', `conversations?${query(page)}`, stories.conversationsSchema);
  }

  conversation(where: ConversationKey) {
    const path = pathOf({ kind: 'conversation', ...where });
    return this.#find('operator', path, stories.conversationTextSchema);
  }

  /** None: the service that is asked reads a type for itself. */
  channelKeys = async () => [];

  turns(whose: Whose, page: PageAsked) {
    return this.#read('operator', `${pathOf(whose)}/turns?${query(page)}`, stories.turnsSchema);
  }

  async notes(of: NotesOf) {
    return (await this.#read('operator', notesPath(of), stories.notesSchema)).rows;
  }

  toolUses(page: PageAsked) {
    return this.#read('reader', `tool-uses?${query(page)}`, stories.toolUsesSchema);
  }

  toolUse(key: string) {
    return this.#find('operator', `tool-uses/${part(key)}`, stories.toolUseTextSchema);
  }

  replay(id: string): Promise<DeadLetterMove> {
    return this.#move(id, 'replay');
  }

  discard(id: string): Promise<DeadLetterMove> {
    return this.#move(id, 'discard');
  }

  forget(whose: Whose): Promise<number> {
    return this.#delete(pathOf(whose));
  }

  clearNotes(of: NotesOf): Promise<number> {
    return this.#delete(notesPath(of));
  }

  async list() {
    return (await this.#read('operator', 'pairings', pairingsSchema)).rows;
  }

  async admit(code: string): Promise<Admission> {
    const path = `pairings/${part(code)}`;
    const given = await this.#ask({ method: 'POST', path, principal: 'operator' });
    const fault = codeOf(given.body);
    if (fault === 'not_found' || fault === 'storage_failed') return { kind: fault };
    if (fault === 'pairings_full') return { kind: 'full' };
    return { kind: 'admitted', pairing: this.#take(given, pairingSchema) };
  }

  async remove(channel: string, sender: string): Promise<PairingRemoval> {
    const path = `pairings/${part(channel)}/${part(sender)}`;
    const given = await this.#ask({ method: 'DELETE', path, principal: 'operator' });
    const fault = codeOf(given.body);
    if (fault === 'not_found' || fault === 'storage_failed') return fault;
    return this.#take(given, unpairedSchema).result;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#http.close();
  }

  async #delete(path: string): Promise<number> {
    const given = await this.#ask({ method: 'DELETE', path, principal: 'operator' });
    if (isNotFound(given)) return 0;
    return this.#take(given, stories.deletedSchema).deleted;
  }

  async #move(id: string, verb: 'replay' | 'discard'): Promise<DeadLetterMove> {
    const path = `dead-letters/${part(id)}/${verb}`;
    const given = await this.#ask({ method: 'POST', path, principal: 'operator' });
    if (given.status === 200) return this.#take(given, stories.deadLetterMovedSchema).result;
    const code = codeOf(given.body);
    if (code === 'not_found' || code === 'not_kept' || code === 'storage_failed') return code;
    return this.#refused(given);
  }

  /** Null where the service says that there is no such thing. */
  async #find<const S>(principal: Question['principal'], path: string, schema: S & Schema) {
    const given = await this.#ask({ method: 'GET', path, principal });
    return isNotFound(given) ? null : this.#take<S>(given, schema);
  }

  async #read<const S>(principal: Question['principal'], path: string, schema: S & Schema) {
    return this.#take<S>(await this.#ask({ method: 'GET', path, principal }), schema);
  }

  #take<const S>(given: Given, schema: S & Schema): Described<S> {
    if (given.status !== 200) return this.#refused(given);
    try {
      return read<S>(schema, given.body);
    } catch (error) {
      if (!(error instanceof Misshapen)) throw error;
      const what = `What answers at ${this.#origin.host} is no svc of this version`;
      throw new Unanswered(`${what}: ${error.message}.`);
    }
  }

  async #ask({ method, path, principal }: Question): Promise<Given> {
    const { bearer, version, stop } = this.#options;
    if (principal === 'operator' && bearer.kind === 'none') throw new Unanswered(bearer.message);
    const authorization =
      principal === 'operator' && bearer.kind === 'token'
        ? { authorization: `Bearer ${bearer.token}` }
        : {};
    const request: HttpRequest = {
      method,
      url: new URL(`/api/v1/${path}`, this.#origin),
      headers: { accept: 'application/json', 'user-agent': `svc/${version}`, ...authorization },
      body: null,
      deadlineAt: Date.now() + answerMs,
      bodyBytesMax,
    };
    const result = await this.#http.send(request, stop);
    if (result.kind === 'fault') throw new Unanswered(this.#sayFault(result.fault));
    return { status: result.status, body: parse(result.body) };
  }

  #sayFault(fault: HttpFault): string {
    const where = this.#origin.host;
    if (fault === 'connect_failed' || fault === 'connect_timeout') {
      return `No running svc answers at ${where}, its admin address (observability.addr).`;
    }
    if (fault === 'timeout')
      return `The svc at ${where} gave no answer within ${answerMs / 1000} s.`;
    if (fault === 'cancelled') return 'Given up; it may have been done all the same.';
    if (fault === 'answer_too_large') return 'That page is too large; ask with a smaller --limit.';
    return `The connection to the svc at ${where} broke before its answer was whole.`;
  }

  #refused({ status, body }: Given): never {
    const { bearer } = this.#options;
    if (status === 401 && bearer.kind === 'token') {
      throw new Unanswered(
        `The running svc does not accept the value of ${bearer.variable}: ` +
          'set it here to what the service was started with.',
      );
    }
    const detail = detailOf(body);
    if (detail !== null) throw new Unanswered(`The running svc refused: ${detail}`);
    const what = `What answers at ${this.#origin.host} is no svc of this version`;
    throw new Unanswered(`${what}: it answered ${status}.`);
  }
}

/** Where a process of this machine reaches what listens there. */
export function originOf({ host, port }: ListenAddress): URL {
  const near = host === '' || host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return new URL(`http://${near.includes(':') ? `[${near}]` : near}:${port}`);
}

/** One segment of a path. URLs take `.` and `..` away, also when they are escaped. */
function part(text: string): string {
  if (text !== '.' && text !== '..') return encodeURIComponent(text);
  throw new Unanswered(`No address can name "${text}"; stop svc and try again.`);
}

function query({ after, limit }: PageAsked): string {
  const asked = new URLSearchParams({ limit: String(limit) });
  if (after !== null) asked.set('after', after);
  return asked.toString();
}

function pathOf(whose: Whose): string {
  const channel = part(whose.channel);
  return whose.kind === 'conversation'
    ? `conversations/${channel}/${part(whose.conversation)}`
    : `senders/${channel}/${part(whose.sender)}`;
}

function notesPath(of: NotesOf): string {
  return of.kind === 'brain'
    ? `brains/${part(of.brain)}/notes`
    : `notes/${part(of.channel)}/${part(of.conversation)}`;
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body) as unknown;
  } catch {
    return null;
  }
}

const isNotFound = ({ status, body }: Given): boolean =>
  status === 404 && codeOf(body) === 'not_found';

const codeOf = (body: unknown): string | null => problemOf(body)?.code ?? null;

function detailOf(body: unknown): string | null {
  const found = problemOf(body);
  return found === null ? null : plainLine(found.detail);
}

function problemOf(body: unknown) {
  const { code, detail } = problemSchema.properties;
  try {
    return read(object({ code, detail }), body);
  } catch {
    return null;
  }
}

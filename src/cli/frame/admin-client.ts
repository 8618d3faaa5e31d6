/**
 * The client of a running service's admin API, and over it the ledger, takeovers and approvals. If
 * the service gives no answer, it throws a sentence for the person.
 */
import { parseJson } from '../../lib/json.ts';
import {
  Misshapen,
  object,
  read,
  type Described,
  type Schema,
} from '../../admin/schemas/schema.ts';
import { problemSchema } from '../../admin/schemas/status.ts';
import type { ListenAddress } from '../../config/address.ts';
import { addressFlags } from '../../config/own-addresses.ts';
import { later, steadyNow } from '../../lib/clock.ts';
import { createDeadlines } from '../../lib/deadlines.ts';
import { createHttpClient, type HttpClient } from '../../lib/http-client.ts';
import { type HttpFault, type HttpRequest } from '../../lib/http-client/exchange.ts';
import { originOf } from '../../lib/own-address.ts';
import { stopOf } from '../../lib/stop.ts';
import { plainLine } from '../../lib/plain-text.ts';
import * as takeover from '../../admin/schemas/takeover.ts';
import { pairingSchema, pairingsSchema, unpairedSchema } from '../../admin/schemas/gate.ts';
import * as stories from '../../admin/schemas/story.ts';
import { spendSchema } from '../../admin/schemas/spend.ts';
import { spendDaysMax } from '../../admin/spend.ts';
import type { LedgerWrites } from '../../app/config/audited.ts';
import type { ApprovalState, ApprovalText } from '../../domain/approval.ts';
import type { Admission, Admissions, PairingRemoval } from '../../domain/gate.ts';
import type { NotesOf } from '../../domain/note.ts';
import type { PageRequest } from '../../domain/page.ts';
import type {
  DeliveryFilter,
  MessageFilter,
  RetriedNow,
  WhichDeferred,
} from '../../domain/records.ts';
import type { SpendBy } from '../../domain/spend.ts';
import type { ConversationKey, MessageOwner } from '../../domain/story.ts';
import type { FiguresRequest } from '../../telemetry/figures/figures.ts';
import { Rollup } from '../../telemetry/figures/rollup.ts';
import { daysBetween, localDay } from '../../lib/local-day.ts';
import type { DeadLetterMove, LedgerReader } from '../../ledger/ledger.ts';
import * as approvals from '../../admin/schemas/approvals.ts';

/**
 * Thrown when the service gives no answer or refuses. The message is in sentences for the person.
 * The contracts of reader and writer know no refusal, so it is thrown; the commands catch it.
 */
export class Unanswered extends Error {
  override readonly name = 'Unanswered';
}

export type Bearer =
  | { readonly kind: 'token'; readonly variable: string; readonly token: string }
  /** `message` says what is missing, and what to do about it. */
  | { readonly kind: 'none'; readonly message: string };

export type AdminClientOptions = {
  readonly address: ListenAddress;
  readonly bearer: Bearer;
  readonly version: string;
  /** Cancels the request in progress. */
  readonly stop: AbortSignal;
  /** How long an answer may take, in milliseconds; absent: 30 s. */
  readonly answerMs?: number;
};

const answerMsUsual = 30_000;
/** The pages of the service are well below this limit. */
const bodyBytesMax = 128 * 1024 * 1024;

export type AdminRequest = {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly principal: 'reader' | 'operator';
  /** Sent as JSON. */
  readonly body?: object | null;
};

export type AdminResponse = { readonly status: number; readonly body: unknown };

export class AdminClient implements AsyncDisposable {
  readonly #origin: URL;
  readonly #options: AdminClientOptions;
  readonly #http: HttpClient = createHttpClient(createDeadlines());

  constructor(options: AdminClientOptions) {
    this.#options = options;
    this.#origin = originOf(options.address);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#http.close();
  }

  /**
   * Gets a resource.
   * @returns null if the service knows no such thing
   * @throws {Unanswered} at any other refusal
   */
  async find<const S>(principal: AdminRequest['principal'], path: string, schema: S & Schema) {
    const response = await this.ask({ method: 'GET', path, principal });
    return isNotFound(response) ? null : this.take<S>(response, schema);
  }

  /**
   * Gets a resource, as the schema describes it.
   * @throws {Unanswered} at a refusal
   */
  async read<const S>(principal: AdminRequest['principal'], path: string, schema: S & Schema) {
    return this.take<S>(await this.ask({ method: 'GET', path, principal }), schema);
  }

  /**
   * Checks a response against the schema.
   * @throws {Unanswered} at a refusal, and if the response does not fit
   */
  take<const S>(response: AdminResponse, schema: S & Schema): Described<S> {
    if (response.status !== 200) return this.refused(response);
    try {
      return read<S>(schema, response.body);
    } catch (error) {
      if (!(error instanceof Misshapen)) throw error;
      const what = `What answers at ${this.#origin.host} is no svc of this version`;
      throw new Unanswered(`${what}: ${error.message}.`);
    }
  }

  /**
   * Sends a request.
   * @returns any response, also a refusal
   * @throws {Unanswered} without a response
   */
  async ask({ method, path, principal, body = null }: AdminRequest): Promise<AdminResponse> {
    const { bearer, version, stop, answerMs = answerMsUsual } = this.#options;
    if (principal === 'operator' && bearer.kind === 'none') throw new Unanswered(bearer.message);
    const authorization =
      principal === 'operator' && bearer.kind === 'token'
        ? { authorization: `Bearer ${bearer.token}` }
        : {};
    const request: HttpRequest = {
      method,
      url: new URL(`/api/v1/${path}`, this.#origin),
      headers: {
        accept: 'application/json',
        'user-agent': `svc/${version}`,
        ...(body === null ? {} : { 'content-type': 'application/json' }),
        ...authorization,
      },
      body: body === null ? null : JSON.stringify(body),
      deadlineAt: later(steadyNow(), answerMs),
      bodyBytesMax,
    };
    const result = await this.#http.send(request, stopOf(stop));
    if (result.kind === 'fault') throw new Unanswered(this.#describeFault(result.fault, method));
    return { status: result.status, body: parseJson(result.body) };
  }

  #describeFault(fault: HttpFault, method: AdminRequest['method']): string {
    const where = this.#origin.host;
    const { answerMs = answerMsUsual } = this.#options;
    if (fault === 'connect_failed' || fault === 'connect_timeout') {
      return (
        `No running svc answers at ${where}, its admin address (observability.addr; ` +
        `${addressFlags.admin} may have given it another).`
      );
    }
    if (fault === 'timeout')
      return `The svc at ${where} gave no answer within ${answerMs / 1000} s.`;
    if (fault === 'cancelled') {
      return method === 'GET' ? 'Given up.' : 'Given up; it may have been done all the same.';
    }
    if (fault === 'answer_too_large') return 'That page is too large; ask with a smaller --limit.';
    return `The connection to the svc at ${where} broke before its answer was whole.`;
  }

  /** Throws the reason that the response gives. */
  refused({ status, body }: AdminResponse): never {
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

export const isNotFound = ({ status, body }: AdminResponse): boolean =>
  status === 404 && codeOf(body) === 'not_found';

export const codeOf = (body: unknown): string | null => problemOf(body)?.code ?? null;

function detailOf(body: unknown): string | null {
  const problem = problemOf(body);
  return problem === null ? null : plainLine(problem.detail);
}

function problemOf(body: unknown) {
  const { code, detail } = problemSchema.properties;
  try {
    return read(object({ code, detail }), body);
  } catch {
    return null;
  }
}

/**
 * Escapes one segment of a path. URLs resolve `.` and `..` even when they are escaped.
 * @throws {Unanswered} for these two
 */
export function pathSegment(text: string): string {
  if (text !== '.' && text !== '..') return encodeURIComponent(text);
  throw new Unanswered(`No address can name "${text}"; stop svc and try again.`);
}

/** A message that waits in a conversation that is taken over. */
export type WaitingMessage = Described<typeof takeover.waitingSchema>['rows'][number];

/** `message`: the last one that the answer covers; null: the oldest that waits. */
type OperatorAnswer = { readonly text: string; readonly message: string | null };

/**
 * Takes conversations over, answers in them and gives them back, through the running service. The
 * ids are svc's own. Each method throws `Unanswered` at a refusal.
 */
export class RemoteTakeovers {
  readonly #service: AdminClient;

  constructor(service: AdminClient) {
    this.#service = service;
  }

  async hold(id: string) {
    return this.#service.take(
      await this.#post(`${conversationPath(id)}/hold`),
      takeover.heldSchema,
    );
  }

  async waiting(id: string): Promise<readonly WaitingMessage[]> {
    const path = `holds/${pathSegment(id)}/waiting`;
    return (await this.#service.read('operator', path, takeover.waitingSchema)).rows;
  }

  async answer(id: string, written: OperatorAnswer) {
    return this.#service.take(
      await this.#post(`${conversationPath(id)}/answer`, written),
      takeover.answeredSchema,
    );
  }

  async release(id: string) {
    return this.#service.take(
      await this.#post(`${conversationPath(id)}/release`),
      takeover.releasedSchema,
    );
  }

  #post(path: string, body: OperatorAnswer | null = null) {
    return this.#service.ask({ method: 'POST', path, principal: 'operator', body });
  }
}

const conversationPath = (id: string): string => `conversations/${pathSegment(id)}`;

/**
 * The ledger of a running service, over its admin address. Some of it is only in the memory of that
 * process, so nothing else can read it. While that process owns the database, nothing else writes.
 */
export class RemoteLedger implements LedgerReader, LedgerWrites, Admissions {
  readonly takeovers: RemoteTakeovers;
  readonly approvalRequests: RemoteApprovals;
  readonly #service: AdminClient;

  constructor(options: AdminClientOptions) {
    this.#service = new AdminClient(options);
    this.takeovers = new RemoteTakeovers(this.#service);
    this.approvalRequests = new RemoteApprovals(this.#service);
  }

  story(messageId: string) {
    return this.#service.find('reader', `messages/${pathSegment(messageId)}`, stories.storySchema);
  }

  storyText(messageId: string) {
    return this.#service.find(
      'operator',
      `messages/${pathSegment(messageId)}/text`,
      stories.storyTextSchema,
    );
  }

  deadLetters(page: PageRequest) {
    return this.#service.read('reader', `dead-letters?${queryOf(page)}`, stories.deadLettersSchema);
  }

  async deadLetterReasons() {
    const schema = stories.deadLetterReasonsSchema;
    return (await this.#service.read('reader', 'dead-letters/reasons', schema)).rows;
  }

  deadLetter(id: string) {
    return this.#service.find(
      'operator',
      `dead-letters/${pathSegment(id)}`,
      stories.deadLetterTextSchema,
    );
  }

  conversations(page: PageRequest) {
    return this.#service.read(
      'operator',
      `conversations?${queryOf(page)}`,
      stories.conversationsSchema,
    );
  }

  conversation(where: ConversationKey) {
    const path = whosePath({ kind: 'conversation', ...where });
    return this.#service.find('operator', path, stories.conversationTextSchema);
  }

  async conversationById(id: string) {
    const path = `conversations/${pathSegment(id)}`;
    return this.#service.find('operator', path, stories.conversationTextSchema);
  }

  async origins(messageIds: readonly string[]) {
    const path = `messages/origins?${queryOf({ ids: messageIds.join(',') })}`;
    return (await this.#service.read('operator', path, stories.originsSchema)).rows;
  }

  async lines(messageIds: readonly string[]) {
    const path = `messages/lines?${queryOf({ ids: messageIds.join(',') })}`;
    return (await this.#service.read('operator', path, stories.linesSchema)).rows;
  }

  /** Empty: the running service resolves a type itself. */
  channelKeys = async () => [];

  /** None: the running service warns of them itself. */
  privateConversations = async () => 0;

  turns(whose: MessageOwner, page: PageRequest) {
    return this.#service.read(
      'operator',
      `${whosePath(whose)}/turns?${queryOf(page)}`,
      stories.turnsSchema,
    );
  }

  async notes(of: NotesOf) {
    return (await this.#service.read('operator', notesPath(of), stories.notesSchema)).rows;
  }

  toolUses(page: PageRequest) {
    return this.#service.read('reader', `tool-uses?${queryOf(page)}`, stories.toolUsesSchema);
  }

  toolUse(key: string) {
    return this.#service.find(
      'operator',
      `tool-uses/${pathSegment(key)}`,
      stories.toolUseTextSchema,
    );
  }

  messages(filter: MessageFilter, page: PageRequest) {
    const path = `messages?${queryOf({ ...filter, ...page })}`;
    return this.#service.read('reader', path, stories.messagesSchema);
  }

  deliveries(filter: DeliveryFilter, page: PageRequest) {
    const path = `deliveries?${queryOf({ ...filter, ...page })}`;
    return this.#service.read('reader', path, stories.deliveriesSchema);
  }

  async conversationCounts() {
    const schema = stories.conversationCountsSchema;
    return (await this.#service.read('reader', 'conversations/counts', schema)).rows;
  }

  audit(page: PageRequest) {
    return this.#service.read('operator', `audit?${queryOf(page)}`, stories.auditSchema);
  }

  /** None: the page of a running service shows them. */
  figures = async (asked: FiguresRequest) =>
    new Rollup(asked).told({ first: { minute: null, hour: null }, ownUntil: null });

  approvals(state: ApprovalState | null, page: PageRequest) {
    return this.approvalRequests.list(queryOf({ state: state ?? 'all', ...page }));
  }

  approval(id: string) {
    return this.approvalRequests.show(id);
  }

  /** The days are those of the service, whose time zone may differ. */
  async spent(by: SpendBy, since: string) {
    const days = Math.min(spendDaysMax, Math.max(1, daysBetween(since, localDay(Date.now())) + 1));
    const isPeople = by === 'sender';
    const path = isPeople ? `spend/senders?${queryOf({ days })}` : `spend?${queryOf({ by, days })}`;
    return (await this.#service.read(isPeople ? 'operator' : 'reader', path, spendSchema)).rows;
  }

  foundIds(q: string, page: PageRequest) {
    return this.#service.read(
      'reader',
      `search?${queryOf({ q, ...page })}`,
      stories.foundIdsSchema,
    );
  }

  foundTexts(q: string, page: PageRequest) {
    const path = `search/texts?${queryOf({ q, ...page })}`;
    return this.#service.read('operator', path, stories.foundTextsSchema);
  }

  replay(id: string): Promise<DeadLetterMove> {
    return this.#move(id, 'replay');
  }

  discard(id: string, reason: string | null): Promise<DeadLetterMove> {
    return this.#move(id, reason === null ? 'discard' : `discard?${queryOf({ reason })}`);
  }

  /** Ignores `_most`: the API has its own bound for a step. */
  async tryNow(which: WhichDeferred, _most: number): Promise<RetriedNow> {
    const path =
      which.kind === 'one'
        ? `deliveries/${pathSegment(which.id)}/try`
        : `deliveries/try?${queryOf({ ...which.filter, before: which.before })}`;
    const response = await this.#service.ask({ method: 'POST', path, principal: 'operator' });
    const fault = codeOf(response.body);
    if (fault === 'storage_failed') return { kind: fault };
    if (isNotFound(response)) return { kind: 'moved', moved: 0, more: false };
    return { kind: 'moved', ...this.#service.take(response, stories.triedNowSchema) };
  }

  forget(whose: MessageOwner): Promise<number> {
    return this.#delete(whosePath(whose));
  }

  clearNotes(of: NotesOf): Promise<number> {
    return this.#delete(notesPath(of));
  }

  async list() {
    return (await this.#service.read('operator', 'pairings', pairingsSchema)).rows;
  }

  async admit(code: string): Promise<Admission> {
    const path = `pairings/${pathSegment(code)}`;
    const response = await this.#service.ask({ method: 'POST', path, principal: 'operator' });
    const fault = codeOf(response.body);
    if (fault === 'not_found' || fault === 'storage_failed') return { kind: fault };
    if (fault === 'pairings_full') return { kind: 'full' };
    return { kind: 'admitted', pairing: this.#service.take(response, pairingSchema) };
  }

  async remove(channel: string, sender: string): Promise<PairingRemoval> {
    const path = `pairings/${pathSegment(channel)}/${pathSegment(sender)}`;
    const response = await this.#service.ask({ method: 'DELETE', path, principal: 'operator' });
    const fault = codeOf(response.body);
    if (fault === 'not_found' || fault === 'storage_failed') return fault;
    return this.#service.take(response, unpairedSchema).result;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#service[Symbol.asyncDispose]();
  }

  async #delete(path: string): Promise<number> {
    const response = await this.#service.ask({ method: 'DELETE', path, principal: 'operator' });
    if (isNotFound(response)) return 0;
    return this.#service.take(response, stories.deletedSchema).deleted;
  }

  async #move(id: string, verb: string): Promise<DeadLetterMove> {
    const path = `dead-letters/${pathSegment(id)}/${verb}`;
    const response = await this.#service.ask({ method: 'POST', path, principal: 'operator' });
    if (response.status === 200)
      return this.#service.take(response, stories.deadLetterMovedSchema).result;
    const code = codeOf(response.body);
    if (code === 'not_found' || code === 'not_kept' || code === 'storage_failed') return code;
    return this.#service.refused(response);
  }
}

/** A query string of the values that are not null. */
function queryOf(values: Readonly<Record<string, string | number | null>>): string {
  const entries = Object.entries(values).filter(([, value]) => value !== null);
  return new URLSearchParams(entries.map(([name, value]) => [name, String(value)])).toString();
}

function whosePath(whose: MessageOwner): string {
  const channel = pathSegment(whose.channel);
  return whose.kind === 'conversation'
    ? `conversations/${channel}/${pathSegment(whose.conversation)}`
    : `senders/${channel}/${pathSegment(whose.sender)}`;
}

function notesPath(of: NotesOf): string {
  return of.kind === 'brain'
    ? `brains/${pathSegment(of.brain)}/notes`
    : `notes/${pathSegment(of.channel)}/${pathSegment(of.conversation)}`;
}

/**
 * Lists and decides tool calls that wait for a person's yes, through the running service. Each
 * method throws `Unanswered` at a refusal.
 */
class RemoteApprovals {
  readonly #service: AdminClient;

  constructor(service: AdminClient) {
    this.#service = service;
  }

  list(query: string) {
    return this.#service.read('reader', `approvals?${query}`, approvals.approvalsSchema);
  }

  show(id: string): Promise<ApprovalText | null> {
    return this.#service.find(
      'operator',
      `approvals/${pathSegment(id)}`,
      approvals.approvalTextSchema,
    );
  }

  async decide(id: string, word: 'approve' | 'refuse') {
    const path = `approvals/${pathSegment(id)}/${word}`;
    const response = await this.#service.ask({ method: 'POST', path, principal: 'operator' });
    return this.#service.take(response, approvals.approvalDecidedSchema);
  }
}

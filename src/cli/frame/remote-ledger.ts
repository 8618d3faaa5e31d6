/**
 * The running service, asked over its admin address. It speaks for the ledger that the process
 * owns. What is only in the memory of that process can be read nowhere else, and while it owns the
 * database nobody else writes.
 */
import { pairingSchema, pairingsSchema, unpairedSchema } from '../../admin/schemas/gate.ts';
import * as records from '../../admin/schemas/records.ts';
import { foundIdsSchema, foundTextsSchema } from '../../admin/schemas/search.ts';
import { spendSchema } from '../../admin/schemas/spend.ts';
import * as stories from '../../admin/schemas/story.ts';
import { spendDaysMax } from '../../admin/spend.ts';
import type { LedgerWrites } from '../../app/config/audited.ts';
import type { ApprovalState } from '../../domain/approval.ts';
import type { Admission, Admissions, PairingRemoval } from '../../domain/gate.ts';
import type { NotesOf } from '../../domain/note.ts';
import type { PageAsked } from '../../domain/page.ts';
import type { DeliveryFilter, MessageFilter } from '../../domain/records.ts';
import type { TriedNow, WhichDeferred } from '../../domain/records.ts';
import type { SpendBy } from '../../domain/spend.ts';
import type { ConversationKey, Whose } from '../../domain/story.ts';
import type { FiguresAsked } from '../../telemetry/figures/figures.ts';
import { Gathering } from '../../telemetry/figures/rollup.ts';
import { daysBetween, localDay } from '../../lib/local-day.ts';
import type { DeadLetterMove, LedgerReader } from '../../ledger/ledger.ts';
import { AdminClient, codeOf, isNotFound, type AdminClientOptions } from './admin-client.ts';
import { RemoteApprovals } from './remote-approvals.ts';
import { RemoteTakeovers } from './remote-hands.ts';
import { part } from './remote-path.ts';

export class RemoteLedger implements LedgerReader, LedgerWrites, Admissions {
  readonly hands: RemoteTakeovers;
  readonly deciding: RemoteApprovals;
  readonly #service: AdminClient;

  constructor(options: AdminClientOptions) {
    this.#service = new AdminClient(options);
    this.hands = new RemoteTakeovers(this.#service);
    this.deciding = new RemoteApprovals(this.#service);
  }

  story(messageId: string) {
    return this.#service.find('reader', `messages/${part(messageId)}`, stories.storySchema);
  }

  storyText(messageId: string) {
    return this.#service.find(
      'operator',
      `messages/${part(messageId)}/text`,
      stories.storyTextSchema,
    );
  }

  deadLetters(page: PageAsked) {
    return this.#service.read('reader', `dead-letters?${queryOf(page)}`, stories.deadLettersSchema);
  }

  async deadLetterReasons() {
    const schema = stories.deadLetterReasonsSchema;
    return (await this.#service.read('reader', 'dead-letters/reasons', schema)).rows;
  }

  deadLetter(id: string) {
    return this.#service.find('operator', `dead-letters/${part(id)}`, stories.deadLetterTextSchema);
  }

  conversations(page: PageAsked) {
    return this.#service.read(
      'operator',
      `conversations?${queryOf(page)}`,
      stories.conversationsSchema,
    );
  }

  conversation(where: ConversationKey) {
    const path = pathOf({ kind: 'conversation', ...where });
    return this.#service.find('operator', path, stories.conversationTextSchema);
  }

  async conversationById(id: string) {
    const path = `conversations/${part(id)}`;
    return this.#service.find('operator', path, stories.conversationTextSchema);
  }

  async origins(messageIds: readonly string[]) {
    const path = `messages/origins?${queryOf({ ids: messageIds.join(',') })}`;
    return (await this.#service.read('operator', path, stories.originsSchema)).rows;
  }

  /** Empty: the service that is asked resolves a type by itself. */
  channelKeys = async () => [];

  /** None: the service that is asked warns of them by itself. */
  privateConversations = async () => 0;

  turns(whose: Whose, page: PageAsked) {
    return this.#service.read(
      'operator',
      `${pathOf(whose)}/turns?${queryOf(page)}`,
      stories.turnsSchema,
    );
  }

  async notes(of: NotesOf) {
    return (await this.#service.read('operator', notesPath(of), stories.notesSchema)).rows;
  }

  toolUses(page: PageAsked) {
    return this.#service.read('reader', `tool-uses?${queryOf(page)}`, stories.toolUsesSchema);
  }

  toolUse(key: string) {
    return this.#service.find('operator', `tool-uses/${part(key)}`, stories.toolUseTextSchema);
  }

  messages(filter: MessageFilter, page: PageAsked) {
    const path = `messages?${queryOf({ ...filter, ...page })}`;
    return this.#service.read('reader', path, records.messagesSchema);
  }

  deliveries(filter: DeliveryFilter, page: PageAsked) {
    const path = `deliveries?${queryOf({ ...filter, ...page })}`;
    return this.#service.read('reader', path, records.deliveriesSchema);
  }

  async conversationCounts() {
    const schema = records.conversationCountsSchema;
    return (await this.#service.read('reader', 'conversations/counts', schema)).rows;
  }

  audit(page: PageAsked) {
    return this.#service.read('operator', `audit?${queryOf(page)}`, records.auditSchema);
  }

  /** None: of a service that runs its page shows them. */
  figures = async (asked: FiguresAsked) =>
    new Gathering(asked).told({ first: { minute: null, hour: null }, ownUntil: null });

  approvals(state: ApprovalState | null, page: PageAsked) {
    return this.deciding.list(queryOf({ state: state ?? 'all', ...page }));
  }

  approval(id: string) {
    return this.deciding.show(id);
  }

  /** Of the days of the service, should its zone be another. */
  async spent(by: SpendBy, since: string) {
    const days = Math.min(spendDaysMax, Math.max(1, daysBetween(since, localDay(Date.now())) + 1));
    const isPeople = by === 'sender';
    const path = isPeople ? `spend/senders?${queryOf({ days })}` : `spend?${queryOf({ by, days })}`;
    return (await this.#service.read(isPeople ? 'operator' : 'reader', path, spendSchema)).rows;
  }

  foundIds(q: string, page: PageAsked) {
    return this.#service.read('reader', `search?${queryOf({ q, ...page })}`, foundIdsSchema);
  }

  foundTexts(q: string, page: PageAsked) {
    const path = `search/texts?${queryOf({ q, ...page })}`;
    return this.#service.read('operator', path, foundTextsSchema);
  }

  replay(id: string): Promise<DeadLetterMove> {
    return this.#move(id, 'replay');
  }

  discard(id: string, reason: string | null): Promise<DeadLetterMove> {
    return this.#move(id, reason === null ? 'discard' : `discard?${queryOf({ reason })}`);
  }

  /** Over the API a step has a bound of its own. */
  async tryNow(which: WhichDeferred, _most: number): Promise<TriedNow> {
    const path =
      which.kind === 'one'
        ? `deliveries/${part(which.id)}/try`
        : `deliveries/try?${queryOf({ ...which.filter, before: which.before })}`;
    const given = await this.#service.ask({ method: 'POST', path, principal: 'operator' });
    const fault = codeOf(given.body);
    if (fault === 'storage_failed') return { kind: fault };
    if (isNotFound(given)) return { kind: 'moved', moved: 0, more: false };
    return { kind: 'moved', ...this.#service.take(given, records.triedNowSchema) };
  }

  forget(whose: Whose): Promise<number> {
    return this.#delete(pathOf(whose));
  }

  clearNotes(of: NotesOf): Promise<number> {
    return this.#delete(notesPath(of));
  }

  async list() {
    return (await this.#service.read('operator', 'pairings', pairingsSchema)).rows;
  }

  async admit(code: string): Promise<Admission> {
    const path = `pairings/${part(code)}`;
    const given = await this.#service.ask({ method: 'POST', path, principal: 'operator' });
    const fault = codeOf(given.body);
    if (fault === 'not_found' || fault === 'storage_failed') return { kind: fault };
    if (fault === 'pairings_full') return { kind: 'full' };
    return { kind: 'admitted', pairing: this.#service.take(given, pairingSchema) };
  }

  async remove(channel: string, sender: string): Promise<PairingRemoval> {
    const path = `pairings/${part(channel)}/${part(sender)}`;
    const given = await this.#service.ask({ method: 'DELETE', path, principal: 'operator' });
    const fault = codeOf(given.body);
    if (fault === 'not_found' || fault === 'storage_failed') return fault;
    return this.#service.take(given, unpairedSchema).result;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#service[Symbol.asyncDispose]();
  }

  async #delete(path: string): Promise<number> {
    const given = await this.#service.ask({ method: 'DELETE', path, principal: 'operator' });
    if (isNotFound(given)) return 0;
    return this.#service.take(given, stories.deletedSchema).deleted;
  }

  async #move(id: string, verb: string): Promise<DeadLetterMove> {
    const path = `dead-letters/${part(id)}/${verb}`;
    const given = await this.#service.ask({ method: 'POST', path, principal: 'operator' });
    if (given.status === 200)
      return this.#service.take(given, stories.deadLetterMovedSchema).result;
    const code = codeOf(given.body);
    if (code === 'not_found' || code === 'not_kept' || code === 'storage_failed') return code;
    return this.#service.refused(given);
  }
}

/** Of the values that are not null. */
function queryOf(values: Readonly<Record<string, string | number | null>>): string {
  const given = Object.entries(values).filter(([, value]) => value !== null);
  return new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
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

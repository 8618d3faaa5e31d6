/**
 * Smaller parts of the storage: the memory of agents (notes, tool uses, begun calls), approvals,
 * attachments, figures and spend. Notes are read from the disk each time. A brain's note may come
 * from any of its conversations, and a turn asks only once, before its first model call.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Note, NoteScope } from '../../../domain/note.ts';
import type { Message } from '../../../domain/message.ts';
import { toolOutcomes, type ToolUse } from '../../../domain/tool-use.ts';
import type { RunningCall, StoredAttachments } from '../../engine/storage.ts';
import {
  attachmentOf,
  attachmentRows,
  byMessage,
  pictureOf,
  idLagMs,
} from '../../engine/bodies.ts';
import {
  FreeSpend,
  placesOf,
  settledParts,
  type SpendChange,
  type SpendPlace,
} from '../../engine/spending.ts';
import { labelOf, type Labels } from './sensitivity-labels.ts';
import { toolUseOf, type ToolUseRecord } from '../../read/stories.ts';
import {
  toolUseColumns,
  findApproval,
  findByIdOrCode,
  listOwed,
  listWaiting,
} from '../read/reads.ts';
import type { Approval } from '../../../domain/approval.ts';
import { timeText, type ApprovalId } from '../../../domain/ids.ts';
import type { Approvals, Decided, StoredFigures, Reserving, SpendBook } from '../../ledger.ts';
import type { GroupCommit } from '../write/group-commit.ts';
import type { FigureRow } from '../../../telemetry/figures/figures.ts';
import type { Charged, SpendLimit, Tokens, Used } from '../../../domain/spend.ts';
import { spendValues, type SpendWrite } from '../write/turn-writes.ts';

const noteColumns = 'SELECT channel, at, text, private FROM notes';

type NoteRecord = {
  readonly channel: string;
  readonly at: number;
  readonly text: string;
  readonly private: number | null;
};

export class AgentReads {
  readonly #notesHere: StatementSync;
  readonly #notesOfBrain: StatementSync;
  readonly #uses: StatementSync;
  readonly #calls: StatementSync;

  readonly #labels: Labels;

  /** @param reader a read-only connection */
  constructor(reader: DatabaseSync, labels: Labels) {
    this.#labels = labels;
    this.#notesHere = reader.prepare(
      `${noteColumns} WHERE brain IS NULL AND channel = ? AND conversation = ? ORDER BY seq`,
    );
    this.#notesOfBrain = reader.prepare(`${noteColumns} WHERE brain = ? ORDER BY seq`);
    this.#uses = reader.prepare(
      `SELECT ${toolUseColumns} FROM tool_uses WHERE channel = ? AND conversation = ? ` +
        'ORDER BY seq DESC LIMIT ?',
    );
    this.#calls = reader.prepare(
      "SELECT c.key, c.hash, c.tool, coalesce(u.arguments, '') AS arguments, c.text, c.outcome, " +
        'c.ms, c.private FROM tool_calls AS c LEFT JOIN tool_uses AS u ON u.key = c.key ' +
        'WHERE c.message_id = ? ORDER BY u.seq, c.key',
    );
  }

  notes({ channel, conversation }: Message, scope: NoteScope): readonly Note[] {
    const rows =
      scope.kind === 'brain'
        ? this.#notesOfBrain.all(scope.brain)
        : this.#notesHere.all(channel, conversation);
    const notes = rows as unknown as readonly NoteRecord[];
    return notes.map(({ at, text, private: label, channel: place }) => {
      return { at, text, sensitivity: this.#labels.of(label, place) };
    });
  }

  /** The last n uses of the conversation, newest first. */
  toolUses({ channel, conversation }: Message, n: number): readonly ToolUse[] {
    const rows = this.#uses.all(channel, conversation, n) as unknown as ToolUseRecord[];
    return rows.map((row) => {
      const { key, at, ms, tool, mode, rule, outcome } = toolUseOf(row);
      return { key, at, ms, tool, mode, rule, outcome, arguments: row.arguments };
    });
  }

  /** The calls begun for a message, oldest first. */
  callsOf({ id, channel }: Message): readonly RunningCall[] {
    return this.#calls.all(id).map((row) => {
      const { key, hash, tool, arguments: argumentsText, text, outcome, ms, private: label } = row;
      const known = toolOutcomes.find((one) => one === outcome) ?? 'unknown';
      return {
        key: String(key),
        hash: String(hash),
        tool: String(tool),
        arguments: String(argumentsText),
        sensitivity: this.#labels.of(label === null ? null : Number(label), channel),
        ending: text === null ? null : { text: String(text), outcome: known, ms: Number(ms) },
      };
    });
  }
}

/**
 * The approvals in the database. Only this process writes the database, so it decides here which
 * decision came first.
 */
export class StoredApprovals implements Approvals {
  readonly #reader: DatabaseSync;
  readonly #groupCommit: GroupCommit;
  /** The decisions that are being written now. */
  readonly #deciding = new Map<ApprovalId, Promise<unknown>>();

  /** @param reader a read-only connection */
  constructor(reader: DatabaseSync, groupCommit: GroupCommit) {
    this.#reader = reader;
    this.#groupCommit = groupCommit;
  }

  async find(idOrCode: string): Promise<Approval | null> {
    return findByIdOrCode(this.#reader, idOrCode);
  }

  async decide(id: ApprovalId, decided: Decided) {
    while (this.#deciding.has(id)) await this.#deciding.get(id);
    const deciding = this.#decide(id, decided);
    this.#deciding.set(id, deciding);
    try {
      return await deciding;
    } finally {
      this.#deciding.delete(id);
    }
  }

  async owed(now: number): Promise<readonly Approval[]> {
    return listOwed(this.#reader, now);
  }

  async waiting(): Promise<readonly Approval[]> {
    return listWaiting(this.#reader);
  }

  async #decide(id: ApprovalId, { verdict, by, at }: Decided) {
    try {
      if (findApproval(this.#reader, id)?.state !== 'waiting') return 'not_waiting';
      this.#groupCommit.add(['approvalDecided', verdict, by, at, id]);
      if (!(await this.#groupCommit.writtenNow())) return 'storage_failed';
      // The approval may have been forgotten meanwhile.
      return findApproval(this.#reader, id) === null ? 'not_waiting' : 'decided';
    } catch {
      return 'storage_failed';
    }
  }
}

/** @param reader a read-only connection */
export function storedAttachments(
  reader: DatabaseSync,
  groupCommit: GroupCommit,
): StoredAttachments {
  const ofMessage = reader.prepare(
    'SELECT kind, name, type, content FROM attachments WHERE message_id = ? ORDER BY place',
  );
  const pictures = reader.prepare(
    'SELECT a.type, a.content, a.private, m.accepted_at AS at ' +
      'FROM attachments AS a JOIN inbox AS m ON m.id = a.message_id ' +
      "WHERE a.kind = 'picture' AND a.channel = ? AND a.conversation = ? AND a.message_id >= ? " +
      'AND m.state > 0 AND m.accepted_at >= ? ORDER BY a.message_id DESC, a.place DESC LIMIT ?',
  );
  const ofTime = reader.prepare(
    'SELECT a.message_id, a.kind, a.name, a.type, a.content ' +
      'FROM attachments AS a JOIN inbox AS m ON m.id = a.message_id ' +
      'WHERE a.message_id >= ? AND a.message_id < ? AND a.channel = ? AND a.conversation = ? ' +
      'AND m.state > 0 AND m.accepted_at = ? ORDER BY a.message_id, a.place',
  );
  return {
    keep({ id, channel, conversation, sensitivity }, attachments) {
      const label = labelOf(sensitivity);
      groupCommit.add(['attachmentsGone', id]);
      for (const { place, kind, name, type, content } of attachmentRows(attachments)) {
        const values = [
          id,
          place,
          channel,
          conversation,
          kind,
          name,
          type,
          label,
          content,
        ] as const;
        groupCommit.add(['attachment', ...values]);
      }
      return groupCommit.writtenNow();
    },
    of: ({ id }) => ofMessage.all(id).map(attachmentOf),
    acceptedAt({ channel, conversation }, at) {
      const first = timeText(Math.max(0, at - idLagMs));
      const end = timeText(at + 1);
      return byMessage(ofTime.all(first, end, channel, conversation, at));
    },
    picturesSince({ channel, conversation }, since, n) {
      const first = timeText(Math.max(0, since - idLagMs));
      return pictures.all(channel, conversation, first, since, n).map((row) => ({
        at: Number(row['at']),
        sensitivity: row['private'] === 0 ? 'public' : 'private',
        picture: pictureOf(row['type'], String(row['content'])),
      }));
    },
  };
}

/** Figures wait for the next commit of other writes. For want of room only figures wait. */
export class Figures implements StoredFigures {
  readonly #groupCommit: GroupCommit;
  readonly #hasRoom: () => boolean;

  constructor(groupCommit: GroupCommit, hasRoom: () => boolean) {
    this.#groupCommit = groupCommit;
    this.#hasRoom = hasRoom;
  }

  async keep(rows: readonly FigureRow[]): Promise<boolean> {
    if (this.#groupCommit.broken || !this.#hasRoom()) return false;
    for (const { lengthMs, at, run, body } of rows) {
      this.#groupCommit.add(['figure', lengthMs, at, run, body]);
    }
    return this.#groupCommit.writtenNow();
  }
}

/**
 * The writes of spend, which join the next commit. Calls of one kind that end while a group gathers
 * share one write of it. The writer decides a reservation when it writes it. The use of free models
 * is written once a second.
 */
export class Spend implements SpendBook {
  readonly #groupCommit: GroupCommit;
  /** The spend writes of the gathering group. Their sums grow until it is sent. */
  readonly #gathered = new Map<string, SpendWrite>();
  #group: unknown = null;
  readonly #free = new FreeSpend((charged, change) => this.#write('spent', charged, change));

  constructor(groupCommit: GroupCommit) {
    this.#groupCommit = groupCommit;
  }

  reserve(charged: Charged, most: Tokens, limits: readonly SpendLimit[]): Promise<Reserving> {
    this.flush();
    const place = this.#groupCommit.add({ charged, most, limits });
    return new Promise((resolve) => {
      this.#groupCommit.flush(
        (result) => resolve(result?.reservings.get(place) ?? { kind: 'unwritten' }),
        () => resolve({ kind: 'unwritten' }),
      );
    });
  }

  settle(charged: Charged, reserved: Tokens | null, used: Used | null): void {
    if (reserved === null && used === null) return;
    if (reserved === null && used !== null && !charged.costs) return this.#free.add(charged, used);
    // A reservation that is missing was forgotten meanwhile, and must not come back.
    const name = reserved === null ? 'spent' : 'spendSettled';
    for (const part of settledParts(charged, reserved, used)) {
      this.#write(name, part.charged, part.change);
    }
  }

  /** Writes the gathered use of free models. */
  flush(): void {
    this.#free.flush();
  }

  #write(name: SpendWrite[0], charged: Charged, change: SpendChange): void {
    if (this.#groupCommit.broken) return;
    if (this.#groupCommit.gathering !== this.#group) {
      this.#gathered.clear();
      this.#group = this.#groupCommit.gathering;
    }
    let isNew = false;
    for (const place of placesOf(charged)) {
      const key = `${name}\0${keyOf(place)}`;
      const known = this.#gathered.get(key);
      if (known !== undefined) addTo(known, change);
      else {
        const write: SpendWrite = [name, ...spendValues(place, change)];
        this.#gathered.set(key, write);
        this.#groupCommit.add(write);
        isNew = true;
      }
    }
    if (isNew) this.#groupCommit.flushSoon(() => {});
  }
}

function keyOf({ day, channel, sender, brain, model, ...rest }: SpendPlace): string {
  const { priceInput, priceOutput, costs } = rest;
  const charged = `${day}\0${channel}\0${sender}\0${brain}\0${model}`;
  return `${charged}\0${priceInput}\0${priceOutput}\0${costs}`;
}

function addTo(known: SpendWrite, change: SpendChange): void {
  known[1] += change.calls;
  known[2] += change.estimatedCalls;
  known[3] += change.input;
  known[4] += change.output;
  known[5] += change.openInput;
  known[6] += change.openOutput;
}

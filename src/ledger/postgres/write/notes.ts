/** Notes that turns add and clear, and how many stay. */
import type { Step } from './writes.ts';

/** In their order. `brain` null: of the conversation alone. */
export type NoteStep =
  | {
      readonly kind: 'add';
      readonly brain: string | null;
      readonly at: number;
      readonly private: boolean;
      readonly text: string;
      readonly max: number;
    }
  | { readonly kind: 'clear'; readonly brain: string | null };

/** Whose notes: of a brain, or of the conversation of a message that waits or was settled. */
const ofBrain = 'brain = $1';
const ofConversation = (table: string): string =>
  'brain IS NULL AND (channel, conversation) = ' +
  `(SELECT channel, conversation FROM svc.${table} WHERE id = $1)`;

const clearBrain = `
DELETE FROM svc.note WHERE ${ofBrain} AND EXISTS (SELECT 1 FROM svc.inbox WHERE id = $2)`;
const clearConversation = `DELETE FROM svc.note WHERE ${ofConversation('inbox')}`;

/** The newest so many stay. */
const boundConversation = `
DELETE FROM svc.note WHERE ${ofConversation('message')} AND seq <=
  (SELECT seq FROM svc.note WHERE ${ofConversation('message')}
  ORDER BY seq DESC LIMIT 1 OFFSET $2)`;

/** Each conversation has its share: where one has the most notes, its oldest go first. */
const boundBrain = `
DELETE FROM svc.note WHERE seq IN (
  SELECT seq FROM (
    SELECT seq, row_number() OVER (PARTITION BY channel, conversation ORDER BY seq DESC) AS place
    FROM svc.note WHERE ${ofBrain}
  ) AS placed
  ORDER BY place DESC, seq
  LIMIT greatest(0, (SELECT count(*) FROM svc.note WHERE ${ofBrain}) - $2::bigint)
)`;

type NotingTurn = { readonly id: string; readonly notes: readonly NoteStep[] };

export type AddedNote = Extract<NoteStep, { kind: 'add' }>;

/**
 * A lane has one turn in a group, so what is cleared of a conversation is what this turn added
 * before; of a brain also what others added.
 */
export function notesOf(writes: readonly NotingTurn[]): {
  readonly before: readonly Step[];
  readonly rows: readonly (readonly AddedNote[])[];
  readonly after: readonly Step[];
} {
  const before: Step[] = [];
  const rows: (readonly AddedNote[])[] = [];
  const bounds = new Map<string, Step>();
  for (const { id, notes } of writes) {
    let own: readonly AddedNote[] = [];
    for (const step of notes) {
      if (step.kind === 'add') {
        own = [...own, step];
        bounds.set(step.brain ?? `\0${id}`, boundStep(step, id));
        continue;
      }
      before.push(clearStep(step.brain, id));
      own = own.filter(({ brain }) => brain !== step.brain);
      if (step.brain === null) continue;
      for (const [place, earlier] of rows.entries()) {
        rows[place] = earlier.filter(({ brain }) => brain !== step.brain);
      }
    }
    rows.push(own);
  }
  return { before, rows, after: [...bounds.values()] };
}

function boundStep({ brain, max }: AddedNote, id: string): Step {
  const statement =
    brain === null
      ? { text: boundConversation, values: [id, max] }
      : { text: boundBrain, values: [brain, max] };
  return { statement };
}

function clearStep(brain: string | null, id: string): Step {
  return {
    statement:
      brain === null
        ? { text: clearConversation, values: [id] }
        : { text: clearBrain, values: [brain, id] },
  };
}

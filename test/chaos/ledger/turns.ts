/** The effects of the turns of a walk. */
import type { TurnRow } from '../../../src/domain/conversation.ts';
import type { ReplyId } from '../../../src/domain/ids.ts';
import type { Reply } from '../../../src/domain/reply.ts';
import type { Effects, InClaim } from '../../../src/ledger/ledger.ts';
import { noteMovesOf } from './notes.ts';
import type { World } from './worlds.ts';

/** The default; one turn more shows that the history passed a bound. */
const windowTurns = 40 + 1;
const windowCharacters = 16_000;

/** The dice select the number of replies, their parts, and the stored turn. */
export function effectsOf(
  world: World,
  { message, attempt, memory }: InClaim,
  dice: readonly number[],
): Effects {
  const [, size = 0, parts = 0, kept = 0, cut = 0, quoted = 0] = dice;
  const { acceptedAt, text, sensitivity } = message;
  const count = size > 0.985 ? 45 : Math.floor(size * 2.6);
  const whole = world.ids.reply();
  const idOf = (i: number): ReplyId => {
    if (parts > 0.8) return `${whole}-${String(i).padStart(2, '0')}` as ReplyId;
    return i === 0 ? whole : world.ids.reply();
  };
  const replies = Array.from({ length: count }, (_, i): Reply => {
    return {
      id: idOf(i),
      inReplyTo: message.id,
      conversation: message.conversation,
      address: message.address,
      brain: 'main',
      text: `r${i} of ${short(text)}`,
      createdAt: world.now,
      sessionStarted: null,
    };
  });
  const turn = { at: acceptedAt, text, reply: replies[0]?.text ?? null, sensitivity };
  const [oldest] = memory.turns;
  const brain = parts > 0.5 ? 'main' : 'other';
  const start = { after: oldest?.at ?? 0, at: world.now };
  const imported = world.people && memory.empty && quoted > 0.8;
  return {
    replies,
    turn: imported || kept > 0.9 ? null : turn,
    session: cut > 0.9 ? { reason: 'command', at: acceptedAt } : null,
    ...(cut > 0.4 && cut <= 0.6 && oldest !== undefined && { window: { brain, start } }),
    imported: imported ? { text: `quoted for ${short(text)}`, sensitivity } : null,
    leftOut: kept > 0.7 && kept <= 0.9 ? memory.turns.filter(isUnanswered) : [],
    doubted: [],
    notes: world.people ? noteMovesOf(short(text), message, dice.slice(6)) : [],
    toolUses: [],
    unsent: [],
    trace: {
      acceptedAt,
      claimedAt: acceptedAt,
      decidedAt: world.now,
      brain: 'main',
      attempt,
      outcome: 'reply',
      steps: [],
    },
  };
}

export function tellEffects({ replies, turn, session }: Effects): string {
  const texts = replies.map(({ id }) => id.slice(22) || 'reply').join(' ');
  return `[${texts}]${turn === null ? ' no turn' : ''}${session === null ? '' : ' cut'}`;
}

/** The first word of a text, which is unique. */
export function short(text: string): string {
  return text.split(' ')[0]!;
}

/** The newest turns, oldest first, up to the one that passes a bound. */
export function windowOf(turns: readonly TurnRow[]): readonly TurnRow[] {
  for (let n = Math.min(windowTurns, turns.length); ; n--) {
    const newest = n === 0 ? [] : turns.slice(-n);
    const texts = newest.slice(1).map(({ text, reply }) => text + (reply ?? ''));
    if (texts.join('').length <= windowCharacters) return newest;
  }
}

/** Whether a brain may leave the turn out. */
export function isUnanswered({ reply, quoted }: TurnRow): boolean {
  return reply === null && quoted === undefined;
}

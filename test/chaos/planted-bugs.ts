/** Bugs, each of which breaks one promise of the ledger. */
import type { Box } from '../../src/domain/event.ts';
import type { ChannelKey } from '../../src/domain/ids.ts';
import type { Message } from '../../src/domain/message.ts';
import type { Claim, Ledger, OutClaim } from '../../src/ledger/ledger.ts';
import type { Plant } from './ledger/worlds.ts';

export type PlantedBug = {
  readonly name: string;
  /** It shows only in a backend that outlives its process. */
  readonly durable: boolean;
  /** Called once for each walk: its notes live as long as the files. */
  readonly plant: () => Plant;
};

const bugs: Readonly<Record<string, PlantedBug['plant']>> = {
  'the second message of a lane is offered while the first is claimed': () => (ledger) => {
    const waiting: Message[] = [];
    return altered(ledger, {
      async accept(batch, ...cursors) {
        const acceptance = await ledger.accept(batch, ...cursors);
        if (acceptance.kind === 'refused') return acceptance;
        for (const [i, { id, duplicate }] of acceptance.receipts.entries()) {
          const { dedupeKey: _, keyCheck: _check, ...facts } = batch[i]!;
          if (!duplicate) waiting.push({ sensitivity: 'private', ...facts, id, acceptedAt: 0 });
        }
        return acceptance;
      },
      claim: claiming(ledger, (claim) => {
        if (claim.box === 'out') return [claim];
        const { id, channel, conversation } = claim.message;
        const second = waiting.find(
          (one) => one.id > id && one.channel === channel && one.conversation === conversation,
        );
        return second === undefined ? [claim] : [claim, { ...claim, message: second }];
      }),
    });
  },
  'a key is forgotten when it comes twice in one batch': () => (ledger) =>
    altered(ledger, {
      accept: (batch, ...cursors) => {
        const keys = batch.map(({ dedupeKey }) => dedupeKey);
        const once = batch.map((inbound, i) =>
          keys.indexOf(inbound.dedupeKey) < i ? { ...inbound, dedupeKey: null } : inbound,
        );
        return ledger.accept(once, ...cursors);
      },
    }),
  'a release counts as an attempt': () => (ledger) => {
    const releases = new Map<string, number>();
    const guises = new Guises();
    return guises.round(ledger, {
      release(claim, at) {
        const id = idOf(claim);
        releases.set(id, (releases.get(id) ?? 0) + 1);
        return ledger.release(guises.own(claim), at);
      },
      dress: (claim) => ({ attempt: claim.attempt + (releases.get(idOf(claim)) ?? 0) }),
    });
  },
  'a parked reply holds up its lane': () => (ledger) => {
    const parked = new Map<string, OutClaim['reply']>();
    return altered(ledger, {
      defer(claim, at, why, how) {
        if (how.park) parked.set(claim.reply.id, claim.reply);
        return ledger.defer(claim, at, why, how);
      },
      claim: claiming(ledger, (claim) => {
        if (claim.box === 'in' || parked.delete(claim.reply.id)) return [claim];
        const { conversation, address } = claim.reply;
        const held = [...parked.values()].some(
          (one) => one.conversation === conversation && one.address.channel === address.channel,
        );
        if (held) void ledger.release(claim);
        return held ? [] : [claim];
      }),
    });
  },
  'the later parts of a buried reply stay': () => (ledger) => {
    let buried = 0;
    return altered(ledger, {
      deadLetter(claim, why, effects) {
        if (claim.box === 'in') return ledger.deadLetter(claim, why, effects);
        buried++;
        return ledger.delivered(claim);
      },
      gauges: () => ({ ...ledger.gauges(), deadLetters: ledger.gauges().deadLetters + buried }),
    });
  },
  'a stale claim completes': () => (ledger) =>
    altered(ledger, {
      async complete(claim, effects) {
        await ledger.complete(claim, effects);
        return true;
      },
    }),
  'a cursor moves though the batch was refused': () => (ledger) =>
    altered(ledger, {
      async accept(batch, ...cursors) {
        const acceptance = await ledger.accept(batch, ...cursors);
        if (acceptance.kind === 'refused') await ledger.accept([], ...cursors);
        return acceptance;
      },
    }),
  'a deferred reply comes again with its old number': () => (ledger) => {
    const guises = new Guises();
    return guises.round(ledger, {
      dress: (claim) => ({ attempt: claim.attempt > 1 ? claim.attempt - 1 : 1 }),
    });
  },
  'one wake in eight is lost': () => (ledger) =>
    altered(ledger, {
      onReady(wake) {
        let wakes = 0;
        return ledger.onReady((box, channel) => {
          if (++wakes % 8 > 0) wake(box, channel);
        });
      },
    }),
};

const lastingBugs: Readonly<Record<string, PlantedBug['plant']>> = {
  'the mark of a possible duplicate is lost at a crash': () => {
    const marked = new Set<string>();
    const guises = new Guises();
    return (ledger, crashes) =>
      guises.round(ledger, {
        defer(claim, at, why, how) {
          if (how.possibleDuplicate) marked.add(claim.reply.id);
          return ledger.defer(guises.own(claim), at, why, how);
        },
        dress: (claim) =>
          claim.box === 'out' && crashes > 0 && !marked.has(claim.reply.id)
            ? { possibleDuplicate: false }
            : {},
      });
  },
  'one note over the limit stays': () => (ledger) =>
    altered(ledger, {
      complete(claim, effects) {
        const notes = effects.notes.map((move) =>
          move.kind === 'add' ? { ...move, notesMax: move.notesMax + 1 } : move,
        );
        return ledger.complete(claim, { ...effects, notes });
      },
    }),
  'the turn before is not yet remembered': () => (ledger) => {
    const guises = new Guises();
    return guises.round(ledger, {
      dress: (claim) =>
        claim.box === 'in'
          ? { memory: { ...claim.memory, turns: claim.memory.turns.slice(0, -1) } }
          : {},
    });
  },
  'a reply is lost when the process dies after the commit of its turn': () => {
    let last: readonly string[] = [];
    const lost = new Set<string>();
    return (ledger, crashes) => {
      if (crashes > 0) for (const id of last) lost.add(id);
      return altered(ledger, {
        complete(claim, effects) {
          last = effects.replies.map(({ id }) => id);
          return ledger.complete(claim, effects);
        },
        claim: claiming(ledger, (claim) => {
          if (claim.box === 'in' || !lost.has(claim.reply.id)) return [claim];
          void ledger.delivered(claim);
          return [];
        }),
      });
    };
  },
  'a cut of the session is forgotten at a restart': () => {
    const cuts = new Set<string>();
    let opened = 0;
    const guises = new Guises();
    return (ledger) => {
      const restarted = opened++ > 0;
      return guises.round(ledger, {
        complete(claim, effects) {
          const { channel, conversation } = claim.message;
          if (effects.session !== null) cuts.add(`${channel} ${conversation}`);
          return ledger.complete(guises.own(claim), effects);
        },
        dress(claim) {
          if (claim.box === 'out' || !restarted) return {};
          const { channel, conversation } = claim.message;
          if (!cuts.has(`${channel} ${conversation}`)) return {};
          return { memory: { ...claim.memory, session: { number: 1, startedAt: 0 } } };
        },
      });
    };
  },
};

export const plantedBugs: readonly PlantedBug[] = [
  ...Object.entries(bugs).map(([name, plant]) => ({ name, durable: false, plant })),
  ...Object.entries(lastingBugs).map(([name, plant]) => ({ name, durable: true, plant })),
];

/** The planting mechanism without a bug: no walk may notice it. */
export const harmless: Plant = (ledger) => new Guises().round(ledger, { dress: () => ({}) });

/** Changed claims that stand for those of the ledger. */
class Guises {
  readonly #owns = new WeakMap<Claim, Claim>();

  /** The ledger's own claim. */
  own<C extends Claim>(claim: C): C {
    return (this.#owns.get(claim) ?? claim) as C;
  }

  /** Changes all claims of the ledger by `dress`; `other` methods get the changed claims. */
  round(
    ledger: Ledger,
    { dress, ...other }: Partial<Ledger> & { dress: (claim: Claim) => object },
  ): Ledger {
    const dressed = (claim: Claim): readonly Claim[] => {
      const guise = { ...claim, ...dress(claim) } as Claim;
      this.#owns.set(guise, claim);
      return [guise];
    };
    return altered(ledger, {
      claim: claiming(ledger, dressed),
      complete: (claim, effects) => ledger.complete(this.own(claim), effects),
      delivered: (claim) => ledger.delivered(this.own(claim)),
      defer: (claim, at, why, how) => ledger.defer(this.own(claim), at, why, how),
      release: (claim, at) => ledger.release(this.own(claim), at),
      deadLetter: (claim, why, effects) => ledger.deadLetter(this.own(claim), why, effects),
      recall: (claim, n) => ledger.recall(this.own(claim), n),
      earlier: (claim, at, n) => ledger.earlier(this.own(claim), at, n),
      brainOfTurn: (claim, at) => ledger.brainOfTurn(this.own(claim), at),
      notes: (claim, scope) => ledger.notes(this.own(claim), scope),
      ...other,
    });
  }
}

const idOf = (claim: Claim): string => (claim.box === 'in' ? claim.message.id : claim.reply.id);

/** `claim`, with `change` applied to each claim. */
function claiming(ledger: Ledger, change: (claim: Claim) => readonly Claim[]): Ledger['claim'] {
  const claim = async (box: Box, channel: ChannelKey, n: number): Promise<readonly Claim[]> => {
    const claims: readonly Claim[] =
      box === 'in' ? await ledger.claim(box, channel, n) : await ledger.claim(box, channel, n);
    return claims.flatMap(change);
  };
  return claim as Ledger['claim'];
}

/** The ledger with some methods replaced. */
function altered(ledger: Ledger, other: Partial<Ledger>): Ledger {
  return new Proxy(ledger, {
    get(_, name) {
      const own: unknown = Reflect.get(other, name);
      if (own !== undefined) return own;
      const value: unknown = Reflect.get(ledger, name, ledger);
      return typeof value === 'function' ? value.bind(ledger) : value;
    },
  });
}

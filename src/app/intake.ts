/**
 * How messages come in: by the rules of their channel in the plan of now, since a connection may
 * outlive its plan. A channel that is in no plan any more keeps its last rules.
 */
import type { Cursor, Handled, Receive } from '../channels/channel.ts';
import type { AccessConfig } from '../config/config.ts';
import type { ChannelKey } from '../domain/ids.ts';
import type { Inbound } from '../domain/message.ts';
import { strictest } from '../domain/sensitivity.ts';
import { commandsOn } from '../pipeline/commands.ts';
import { EditLabels } from '../pipeline/edit-labels.ts';
import type { Gate, GatedChannel } from '../pipeline/gate.ts';
import type { ActiveRoute, Deps } from '../pipeline/deps.ts';
import { receive, receiveAtGate } from '../pipeline/pipeline.ts';
import { isCommand } from '../pipeline/sessions.ts';
import type { CursorMove } from '../ledger/ledger.ts';

/** Who may talk on a channel, and what becomes of what is said there. */
type Rules = Omit<GatedChannel, 'channel' | 'access'> & Pick<ActiveRoute, 'access'>;

export class Intake {
  readonly #deps: Deps;
  readonly #gate: Gate;
  readonly #labels: EditLabels;
  readonly #rules = new Map<ChannelKey, Rules>();

  constructor(deps: Deps, gate: Gate) {
    this.#deps = deps;
    this.#gate = gate;
    this.#labels = new EditLabels(deps.ledger);
  }

  use(lines: ReadonlyMap<ChannelKey, ActiveRoute>): void {
    for (const [key, route] of lines) {
      const { access, brain, gatherMs = 0 } = route;
      const knows = (inbound: Inbound): boolean =>
        isCommand(inbound.text, commandsOn(this.#deps, route, inbound));
      this.#rules.set(key, { access, sensitivity: brain.sensitivity, knows, gatherMs });
    }
  }

  readonly acceptOn = (channel: ChannelKey): Receive => {
    const { ledger } = this.#deps;
    const take = (batch: readonly Inbound[], place?: Cursor): Promise<Handled> => {
      const cursors = place === undefined ? [] : [{ channel, ...place }];
      const { access, sensitivity } = this.#rules.get(channel)!;
      if (access === null) return receive(this.#deps, sensitivity, batch, ...cursors);
      return this.#takeAtGate(channel, access, batch, cursors);
    };
    return Object.assign(take, {
      room: () => ledger.room().messages,
      whenRoom: (signal: AbortSignal) => ledger.whenRoom(signal),
      cursor: (name: string) => ledger.cursor(channel, name),
    });
  };

  async #takeAtGate(
    channel: ChannelKey,
    access: AccessConfig,
    batch: readonly Inbound[],
    cursors: readonly CursorMove[],
  ): Promise<Handled> {
    const labelled = await this.#labels.label(channel, batch);
    // Each look at the rules finds those of now: the plan may change meanwhile.
    const rules = (): GatedChannel => {
      const now = this.#rules.get(channel)!;
      return { channel, ...now, access: now.access ?? access };
    };
    const before = rules().sensitivity;
    const handled = await receiveAtGate(this.#deps, this.#gate, rules, labelled, ...cursors);
    this.#labels.accepted(labelled, handled, strictest(before, rules().sensitivity));
    return handled;
  }
}

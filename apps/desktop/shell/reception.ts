/** Who connected to the shell's socket is told by the first line; from there on it is theirs. */
import type { Socket } from 'node:net';
import type { FromCore, FromStart, FromWindow, ToCore, ToStart, ToWindow } from '../desktop.ts';
import { speak, type Connection, type Heard } from '../lines.ts';
import type { CoreHello } from './core-keeper.ts';

export type WindowHello = Extract<FromWindow, { readonly kind: 'window' }>;

export type Guests = {
  core(hello: CoreHello, connection: Connection<ToCore>): Heard<FromCore>;
  window(hello: WindowHello, connection: Connection<ToWindow>): Heard<FromWindow>;
  /** A second start; null: it is told nothing, and finds out by itself when this shell has gone. */
  start(config: string | null): Promise<ToStart | null>;
};

type Received = FromCore | FromWindow | FromStart;
type Sent = ToCore | ToWindow | ToStart;

/** Whoever connects and says nothing is let go. */
const helloMs = 5_000;

export function receive(socket: Socket, guests: Guests): void {
  let heard: Heard<Received> | null = null;
  const timer = setTimeout(() => socket.destroy(), helloMs);
  socket.once('close', () => clearTimeout(timer));
  const connection: Connection<Sent> = speak<Received, Sent>(socket, {
    onMessage: (message) => {
      if (heard !== null) return heard.onMessage(message);
      clearTimeout(timer);
      heard = admit(message, connection, guests);
      if (heard === null) connection[Symbol.dispose]();
    },
    onClose: () => heard?.onClose(),
  });
}

/** @returns null: it is nobody who has anything to say here */
function admit(
  first: Received,
  connection: Connection<Sent>,
  guests: Guests,
): Heard<Received> | null {
  // What one of them sends is of its own kind: it is svc itself, of this user.
  if (first.kind === 'core') return guests.core(first, connection) as Heard<Received>;
  if (first.kind === 'window') return guests.window(first, connection) as Heard<Received>;
  if (first.kind !== 'show') return null;
  void answerStart(first.config, connection, guests);
  return { onMessage: () => {}, onClose: () => {} };
}

async function answerStart(
  config: string | null,
  connection: Connection<ToStart>,
  guests: Guests,
): Promise<void> {
  const answer = await guests.start(config);
  if (answer === null) return;
  connection.send(answer);
  await connection.end();
}

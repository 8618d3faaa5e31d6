import { Stopper } from '../../src/lib/stop.ts';

/** For what thousands of messages a second go through: who asks for a real signal there fails. */
export class PlainStop extends Stopper {
  override get signal(): never {
    throw new Error('a real signal was asked for on the way of a message');
  }
}

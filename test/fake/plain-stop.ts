import { Stopper } from '../../src/lib/stop.ts';

/** For code on the path of thousands of messages a second, where a real signal is an error. */
export class PlainStop extends Stopper {
  override get signal(): never {
    throw new Error('a real signal was asked for on the way of a message');
  }
}

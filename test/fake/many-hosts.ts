/**
 * Another address to connect from at each call, for tests that play many machines. Then no machine
 * is slowed for the requests of the others. undefined where the system has only one address.
 */
export function anotherHost(): string | undefined {
  if (process.platform !== 'linux') return undefined;
  calls = (calls + 1) % 0xff_ff_ff;
  return [127, calls >> 16, (calls >> 8) & 255, calls & 255 || 1].join('.');
}

let calls = 0;

/**
 * An address of this machine on which only this process listens: what other test files still send
 * to a server of theirs that is gone, and whose port is another's by now, does not come here.
 */
export const ownHost =
  process.platform === 'linux'
    ? [127, 1 + (process.pid >> 16), (process.pid >> 8) & 255, process.pid & 255].join('.')
    : '127.0.0.1';

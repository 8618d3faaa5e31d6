/**
 * An address of this machine on which only this process listens. Other test files may still send to
 * a port of a closed server that now belongs to this process; they do not reach this address.
 */
export const ownHost =
  process.platform === 'linux'
    ? [127, 1 + (process.pid >> 16), (process.pid >> 8) & 255, process.pid & 255].join('.')
    : '127.0.0.1';

import type { Opener } from '../http-client/connections.ts';
import type { Undici } from '../http-client/undici-connection.ts';
import type { LoadOnce } from '../load-once.ts';
import { type HandOver, PlainConnection, type PlainTarget } from './plain-connection.ts';

/** So many odd answers, and a server's next connections are undici's from the beginning. */
export const oddMax = 8;

/**
 * @param undici what goes on with a connection on which an odd answer has come
 * @returns what makes connections to one origin, plain ones as long as its answers are
 */
export function plainOpener(undici: Pick<LoadOnce<Undici>, 'get'>, target: PlainTarget): Opener {
  const { url, nearOnly, connectMs } = target;
  let odd = 0;
  let byUndici: Opener | null = null;
  const plain: Opener = (owner) => {
    const handOver: HandOver = (from, socket, exchange) => {
      const goOn = ({ UndiciConnection, connectorFrom, connectorTo }: Undici): void => {
        const anew = connectorTo(nearOnly, connectMs);
        if (++odd >= oddMax) byUndici = (all) => new UndiciConnection(url.origin, anew, all);
        const by = new UndiciConnection(url.origin, connectorFrom(socket, anew), owner);
        if (owner.replace(from, by)) by.begin(exchange);
      };
      undici.get().then(goOn, (error: unknown) => exchange.failed(error));
    };
    return new PlainConnection(target, owner, handOver);
  };
  return (owner) => (byUndici ?? plain)(owner);
}

import type { Opener } from '../http-client/connections.ts';
import type { LoadOnce } from '../load-once.ts';
import { type HandOver, PlainConnection, type PlainTarget } from './plain-connection.ts';

type Undici = typeof import('../http-client/undici-connection.ts');

/**
 * @param undici what goes on with a connection on which an odd answer has come
 * @returns what makes plain connections to one origin
 */
export function plainOpener(undici: Pick<LoadOnce<Undici>, 'get'>, target: PlainTarget): Opener {
  return (owner) => {
    const handOver: HandOver = async (from, socket, exchange) => {
      try {
        const { UndiciConnection, connectorFrom, connectorTo } = await undici.get();
        const connect = connectorFrom(socket, connectorTo(target.nearOnly, target.connectMs));
        const by = new UndiciConnection(target.url.origin, connect, owner);
        if (owner.replace(from, by)) by.begin(exchange);
      } catch (error) {
        exchange.failed(error);
      }
    };
    return new PlainConnection(target, owner, handOver);
  };
}

import type { Opener } from '../http-client/connections.ts';
import type { Undici } from '../http-client/undici-connection.ts';
import type { LoadOnce } from '../load-once.ts';
import { type HandOver, PlainConnection, type PlainTarget } from './plain-connection.ts';

/**
 * @param undici what goes on with a connection on which an odd answer has come
 * @returns what makes plain connections to one origin
 */
export function plainOpener(undici: Pick<LoadOnce<Undici>, 'get'>, target: PlainTarget): Opener {
  return (owner) => {
    const handOver: HandOver = (from, socket, exchange) => {
      const goOn = ({ UndiciConnection, connectorFrom, connectorTo }: Undici): void => {
        const connect = connectorFrom(socket, connectorTo(target.nearOnly, target.connectMs));
        const by = new UndiciConnection(target.url.origin, connect, owner);
        if (owner.replace(from, by)) by.begin(exchange);
      };
      undici.get().then(goOn, (error: unknown) => exchange.failed(error));
    };
    return new PlainConnection(target, owner, handOver);
  };
}

import type * as discordWs from '@discordjs/ws';

/**
 * The library starts these and looks at no result: what they throw (at a payload of another shape
 * than Discord's) would end the process. So would an error of a socket that the library has let go:
 * it takes its own listener away, also from a socket whose handshake is still under way.
 */
export function contain(shard: discordWs.WebSocketShard, caught: (error: unknown) => void): void {
  const { onMessage, onClose, heartbeat, internalConnect, destroy } = {
    onMessage: shard['onMessage'].bind(shard),
    onClose: shard['onClose'].bind(shard),
    heartbeat: shard['heartbeat'].bind(shard),
    internalConnect: shard['internalConnect'].bind(shard),
    destroy: shard.destroy.bind(shard),
  };
  shard['onMessage'] = (data: string | ArrayBuffer, isBinary: boolean) =>
    onMessage(data, isBinary).catch(caught);
  shard['onClose'] = (code: number) => onClose(code).catch(caught);
  shard['heartbeat'] = (requested?: boolean) => heartbeat(requested).catch(caught);
  shard['internalConnect'] = () => internalConnect().catch(caught);
  shard.destroy = (options) => {
    shard['connection']?.off('error', unheard).on('error', unheard);
    return destroy(options).catch(caught);
  };
}

const unheard = (): void => {};

/**
 * Keeps errors of the shard from ending the process. The library starts these methods without
 * handling their rejections, which follow a payload of an unexpected shape. An error of a dropped
 * socket would end the process, too: the library removes its own listener, even during the
 * handshake.
 */
import type * as discordWs from '@discordjs/ws';

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
    shard['connection']?.off('error', ignoreError).on('error', ignoreError);
    return destroy(options).catch(caught);
  };
}

const ignoreError = (): void => {};

/**
 * The parts of undici that svc uses. The package's own entry also loads a fetch, WebSockets, caches
 * and more, for which a start would wait. The build takes this file instead.
 */
export { default as buildConnector } from '../node_modules/undici/lib/core/connect.js';
export { default as Client } from '../node_modules/undici/lib/dispatcher/client.js';

/**
 * What svc uses of undici. The package's own entry also loads a fetch, WebSockets, caches and more,
 * which a start would wait for; the build takes this file instead.
 */
export { default as buildConnector } from '../node_modules/undici/lib/core/connect.js';
export { default as Client } from '../node_modules/undici/lib/dispatcher/client.js';

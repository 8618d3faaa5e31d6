/**
 * Replaces node-fetch, which grammY loads and svc never calls, since each call gets its own fetch
 * (bot-api.ts). A bundled node-fetch would load `punycode`, with a warning of Node at every start.
 */
exports.default = function noFetch() {
  throw new Error('grammY was given no fetch');
};

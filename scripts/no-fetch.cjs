/**
 * In the place of node-fetch, which grammY loads and svc never calls: each call is given a fetch of
 * its own (bot-api.ts). Bundled, it would bring `punycode`, and with that a warning of Node's at
 * every start.
 */
exports.default = function noFetch() {
  throw new Error('grammY was given no fetch');
};

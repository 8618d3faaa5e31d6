/**
 * Replaces node-fetch, which grammY loads and svc never calls: each call is given a fetch of its
 * own (bot-api.ts). Bundled, node-fetch would bring `punycode`, and so a warning of Node's at every
 * start.
 */
exports.default = function noFetch() {
  throw new Error('grammY was given no fetch');
};
